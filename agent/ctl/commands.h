/* The commands of tenurectl. Each returns an exit status and has said on stderr what went wrong. */
#ifndef TENURE_CTL_COMMANDS_H
#define TENURE_CTL_COMMANDS_H

#include "ctl/options.h"

/* Of the agent on this host, through its control socket. */
int command_status(const struct ctl_options *options);
int command_is_leader(const struct ctl_options *options);
int command_resign(const struct ctl_options *options);
int command_recover(const struct ctl_options *options);
int command_forget(const struct ctl_options *options);
int command_restart(const struct ctl_options *options);
int command_pause(const struct ctl_options *options);
int command_resume(const struct ctl_options *options);
int command_eligible(const struct ctl_options *options);
int command_switchover(const struct ctl_options *options);

/* On a file: the token gate. */
int command_gate(const struct ctl_options *options);

/* From ZooKeeper itself. They read and never write. */
int command_list(const struct ctl_options *options);
int command_history(const struct ctl_options *options);

#endif
