/* The agent's configuration as tenurectl sees it: what is wrong with it is handed back as text. */
#include "ctl/config_file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctl/output.h"

static int parse(const unsigned char *text, size_t size, const struct config_options *options,
		 struct config_errors *errors, struct config **out)
{
	struct config *config = NULL;
	int rc = config_parse(text, size, options, errors, &config);

	if (rc == 0)
		*out = config;
	return rc;
}

int config_file_read(const char *file, struct config **out, char **trouble)
{
	struct config_options options = {.file = file};
	struct config_errors errors = {0};
	unsigned char *text = NULL;
	size_t size = 0, said = 0;
	int rc;

	*trouble = NULL;
	errors.stream = open_memstream(trouble, &said);
	if (errors.stream == NULL)
		return -errno;
	rc = config_read(file, &text, &size, &errors);
	if (rc == 0)
		rc = parse(text, size, &options, &errors, out);
	free(text);
	fclose(errors.stream);
	return rc;
}

int config_file_servers(const char *servers, struct config **out, char **trouble)
{
	static const char text[] = "election \"x\" { candidate = false }\n";
	const char *override = NULL;
	struct config_options options = {.file = "-z", .overrides = &override, .override_count = 1};
	struct config_errors errors = {0};
	size_t said = 0;
	char *setting = NULL;
	int rc = -ENOMEM;

	*trouble = NULL;
	errors.stream = open_memstream(trouble, &said);
	if (errors.stream == NULL)
		return -errno;
	if (asprintf(&setting, "zookeeper.servers=%s", servers) < 0) {
		setting = NULL;
		goto out;
	}
	override = setting;
	rc = parse((const unsigned char *)text, strlen(text), &options, &errors, out);
out:
	free(setting);
	fclose(errors.stream);
	return rc;
}

void config_file_complain(const char *trouble)
{
	static const char override[] = "-o zookeeper.servers:"; /* how config_file_servers hands -z over */

	while (trouble != NULL && *trouble != '\0') {
		size_t length = strcspn(trouble, "\n");
		size_t skip = strncmp(trouble, override, strlen(override)) == 0 ? strlen(override) : 0;

		complain("%s%.*s", skip > 0 ? "-z:" : "", (int)(length - skip), trouble + skip);
		trouble += length + (trouble[length] == '\n');
	}
}
