/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Replaces libFuzzer: run each file of the named folders once. */
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/fuzz/input.h"

enum {
	INPUT_MAX = 1 << 20
};

static void replay(const char *folder, const char *name)
{
	uint8_t *data = malloc(INPUT_MAX);
	char path[4096];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "rb");
	if (!file || !data) {
		perror(path);
		exit(1);
	}
	size = fread(data, 1, INPUT_MAX, file);
	fclose(file);
	/* The last byte of the file is the last accessible byte. */
	data = realloc(data, size ? size : 1);
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, size);
	free(data);
}

static int replay_folder(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	int count = 0;

	if (!dir) {
		perror(folder);
		exit(1);
	}
	while ((entry = readdir(dir))) {
		if (entry->d_name[0] == '.')
			continue;
		replay(folder, entry->d_name);
		count++;
	}
	closedir(dir);
	return count;
}

int main(int argc, char **argv)
{
	int count = 0;

	for (int i = 1; i < argc; i++)
		count += replay_folder(argv[i]);
	printf("%d inputs\n", count);
	return count ? 0 : 1;
}
