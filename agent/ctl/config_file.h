/* The agent's configuration as tenurectl sees it: what is wrong with it is handed back as text. */
#ifndef TENURE_CTL_CONFIG_FILE_H
#define TENURE_CTL_CONFIG_FILE_H

#include "common/config.h"

/*
 * Reads FILE without looking at hooks and users. Returns 0 and a configuration the caller frees; or negative
 * errno and, in *TROUBLE, what is wrong, one a line, which the caller frees (NULL when there is no memory).
 */
int config_file_read(const char *file, struct config **out, char **trouble);

/* The servers and chroot in SERVERS ("zk1:2181,zk2:2181/chroot"), by the same rules. Returns as above. */
int config_file_servers(const char *servers, struct config **out, char **trouble);

/* Says each line of TROUBLE on stderr. NULL is fine. */
void config_file_complain(const char *trouble);

#endif
