/* Runs a target over files and over the files of folders, without libFuzzer. Each is named before it runs. */
#include "fuzz.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

enum { FILE_MAX = 1 << 20 };

static int failed(const char *path)
{
	perror(path);
	return -1;
}

static int replay_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	uint8_t *buffer = malloc(FILE_MAX), *data;
	size_t size;

	if (!file || !buffer)
		exit(failed(path));
	size = fread(buffer, 1, FILE_MAX, file);
	fclose(file);
	/* No more than the input, so that a sanitizer sees what is read beyond. */
	data = realloc(buffer, size > 0 ? size : 1);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data ? data : buffer, size);
	free(data ? data : buffer);
	return 1;
}

static int is_visible(const struct dirent *entry)
{
	return entry->d_name[0] != '.';
}

/* Returns how many inputs were run, or -1. */
static int replay(const char *path)
{
	struct dirent **entries;
	struct stat st;
	char inner[4096];
	int n, ran = 0;

	if (stat(path, &st) < 0)
		return failed(path);
	if (!S_ISDIR(st.st_mode))
		return replay_file(path);
	n = scandir(path, &entries, is_visible, alphasort);
	if (n < 0)
		return failed(path);
	for (int i = 0; i < n; i++) {
		snprintf(inner, sizeof(inner), "%s/%s", path, entries[i]->d_name);
		ran += replay_file(inner);
		free(entries[i]);
	}
	free(entries);
	return ran;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		int ran = replay(argv[i]);

		if (ran <= 0) {
			fprintf(stderr, "%s: nothing to replay\n", argv[i]);
			return 1;
		}
	}
	return argc > 1 ? 0 : 1;
}
