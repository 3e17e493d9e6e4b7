/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* stdio, sendfile() and splice() on sockets. */
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "socket_cases.h"

static void case_fdopen(void)
{
	struct ends e = ends_open();
	FILE *in = fdopen(e.b, "r"), *out = fdopen(dup(e.b), "w"), *other = fdopen(e.a, "r+");
	char line[64];
	int number = 0;

	CHECK(in && out && other);
	CHECK(fileno(in) == e.b);
	CHECK(say(e.a, "first line\nsecond 42\n"));
	CHECK(fgets(line, sizeof(line), in) && !strcmp(line, "first line\n"));
	CHECK(fscanf(in, "second %d", &number) == 1 && number == 42);
	CHECK(fprintf(out, "answer %d\n", 7) == 9 && fflush(out) == 0);
	CHECK(fgets(line, sizeof(line), other) && !strcmp(line, "answer 7\n"));
	CHECK(fclose(out) == 0);
	CHECK(fclose(in) == 0); /* the last of the two descriptors */
	CHECK(!fgets(line, sizeof(line), other) && feof(other));
	CHECK(fclose(other) == 0);
	close(e.listener);
}

static void case_standard_output(void)
{
	struct ends e = ends_open();
	int saved;

	fflush(stdout);
	saved = dup(STDOUT_FILENO);
	CHECK(dup2(e.a, STDOUT_FILENO) == STDOUT_FILENO);
	printf("by printf %d\n", 5);
	fflush(stdout);
	CHECK(dup2(saved, STDOUT_FILENO) == STDOUT_FILENO);
	CHECK(expect(e.b, "by printf 5\n"));
	close(saved);
	ends_close(&e);
}

static void case_sendfile(void)
{
	struct ends e = ends_open();
	int file = file_open("0123456789");
	off64_t wide = 3;
	off_t offset = 2;

	CHECK(sendfile(e.a, file, &offset, 4) == 4 && offset == 6);
	CHECK(expect(e.b, "2345"));
	CHECK(sendfile64(e.a, file, &wide, 100) == 7 && wide == 10);
	CHECK(expect(e.b, "3456789"));
	CHECK(lseek(file, 8, SEEK_SET) == 8);
	CHECK(sendfile(e.a, file, NULL, 1) == 1 && lseek(file, 0, SEEK_CUR) == 9);
	CHECK(expect(e.b, "8"));
	close(file);
	ends_close(&e);
}

static void case_splice(void)
{
	struct ends e = ends_open();
	int p[2], flag = 1;
	off64_t offset = 0;
	char bytes[16];

	CHECK(pipe(p) == 0);
	CHECK(say(e.a, "abcdef"));
	CHECK(becomes(e.b, POLLIN));
	CHECK(splice(e.b, NULL, p[1], NULL, 4, 0) == 4);
	CHECK(read(p[0], bytes, sizeof(bytes)) == 4 && !memcmp(bytes, "abcd", 4));
	CHECK(splice(e.b, NULL, p[1], NULL, 100, SPLICE_F_MORE) == 2);
	CHECK(splice(p[0], NULL, e.b, NULL, 100, 0) == 2);
	CHECK(expect(e.a, "ef"));
	CHECK(fcntl(e.b, F_SETFL, O_NONBLOCK) == 0);
	CHECK_ERRNO(splice(e.b, NULL, p[1], NULL, 4, 0), EAGAIN);
	CHECK_ERRNO(splice(p[0], NULL, e.b, NULL, 4, SPLICE_F_NONBLOCK), EAGAIN);
	CHECK_ERRNO(splice(e.b, &offset, p[1], NULL, 4, 0), EINVAL);
	CHECK_ERRNO(splice(e.b, NULL, p[1], &offset, 4, 0), ESPIPE);
	CHECK_ERRNO(splice(e.a, NULL, e.b, NULL, 4, 0), EINVAL);
	/* The peer takes no data: bytes that were not sent stay in the pipe. */
	CHECK(ioctl(e.a, FIONBIO, &flag) == 0);
	for (long sent = 0; sent < 100000000;) {
		char zeros[4096] = {};
		ssize_t n;

		CHECK(write(p[1], zeros, sizeof(zeros)) == sizeof(zeros));
		n = splice(p[0], NULL, e.a, NULL, sizeof(zeros), SPLICE_F_NONBLOCK);
		sent += n > 0 ? n : 0;
		if (n < (ssize_t)sizeof(zeros)) {
			int left = 0;

			CHECK(n > 0 || errno == EAGAIN);
			CHECK(ioctl(p[0], FIONREAD, &left) == 0);
			CHECK(left == (int)sizeof(zeros) - (n > 0 ? (int)n : 0));
			break;
		}
	}
	close(p[1]);
	CHECK(shutdown(e.b, SHUT_WR) == 0);
	close(p[0]);
	CHECK(pipe(p) == 0);
	ioctl(e.a, FIONBIO, &(int){ 0 });
	CHECK(splice(e.a, NULL, p[1], NULL, 10, 0) == 0); /* the end */
	close(p[0]);
	close(p[1]);
	ends_close(&e);
}

static void case_many_messages(void)
{
	struct ends e = ends_open();
	char here[2][4];
	struct iovec out[2] = { { (char[]){ "one" }, 3 }, { (char[]){ "four" }, 4 } };
	struct iovec in[2] = { { here[0], 3 }, { here[1], 4 } };
	struct mmsghdr send[2] = {}, recv[2] = {};

	for (int i = 0; i < 2; i++) {
		send[i].msg_hdr = (struct msghdr){ .msg_iov = &out[i], .msg_iovlen = 1 };
		recv[i].msg_hdr = (struct msghdr){ .msg_iov = &in[i], .msg_iovlen = 1 };
	}
	CHECK(sendmmsg(e.a, send, 2, 0) == 2 && send[0].msg_len == 3 && send[1].msg_len == 4);
	CHECK(recvmmsg(e.b, recv, 2, MSG_WAITALL, NULL) == 2 && recv[1].msg_len == 4);
	CHECK(!memcmp(here[0], "one", 3) && !memcmp(here[1], "four", 4));
	CHECK(say(e.a, "one"));
	CHECK(recvmmsg(e.b, recv, 2, MSG_WAITFORONE, NULL) == 1);
	CHECK_ERRNO(recvmmsg(e.b, recv, 2, MSG_DONTWAIT, NULL), EAGAIN);
	ends_close(&e);
}

const struct case_row file_cases[] = {
	{ "fdopen", case_fdopen },
	{ "standard_output", case_standard_output },
	{ "sendfile", case_sendfile },
	{ "splice", case_splice },
	{ "many_messages", case_many_messages },
	{},
};
