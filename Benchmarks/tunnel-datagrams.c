// Sends and receives small datagrams for Benchmarks/tunnel, with as little work of its own as possible: many datagrams in each system call,
// no timestamps, no offload. iperf3 takes one system call for each, and does more between them: it would be measured, not the tunnel.
//
// tunnel-datagrams receive PORT SECONDS        prints how many arrived within so many seconds of the first one
// tunnel-datagrams send ADDRESS PORT SECONDS SIZE RATE   so many a second (0: as many as possible); prints how many were sent
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

enum { batch = 32, largest = 2048 };

static char bytes[batch][largest];
static struct iovec pieces[batch];
static struct mmsghdr messages[batch];

static int64_t now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * INT64_C(1000000000) + time.tv_nsec;
}

static void prepare(size_t size) {
  for (int i = 0; i < batch; i++) {
    pieces[i] = (struct iovec){bytes[i], size};
    messages[i].msg_hdr = (struct msghdr){.msg_iov = &pieces[i], .msg_iovlen = 1};
  }
}

static int fail(const char *what) {
  perror(what);
  return 1;
}

static int receive(int fd, struct sockaddr_in *address, int64_t duration) {
  int room = 4 << 20;
  setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &room, sizeof room);
  if (bind(fd, (struct sockaddr *)address, sizeof *address) < 0) return fail("bind");
  prepare(largest);
  struct pollfd entry = {.fd = fd, .events = POLLIN};
  long count = 0;
  if (poll(&entry, 1, 10000) == 1) {
    for (int64_t end = now() + duration, left; (left = end - now()) > 0;) {
      if (poll(&entry, 1, (int)(left / 1000000)) <= 0) continue;
      int received = recvmmsg(fd, messages, batch, MSG_DONTWAIT, NULL);
      if (received > 0) count += received;
    }
  }
  printf("%ld\n", count);
  return 0;
}

static int transmit(int fd, struct sockaddr_in *address, int64_t duration, size_t size, long rate) {
  if (size > largest) return fail("size");
  if (connect(fd, (struct sockaddr *)address, sizeof *address) < 0) return fail("connect");
  prepare(size);
  long count = 0;
  int64_t start = now(), time;
  while ((time = now() - start) < duration) {
    int64_t due = rate > 0 ? INT64_C(1000000000) * count / rate : 0;
    if (due > time) {
      struct timespec wait = {.tv_nsec = due - time};
      if (wait.tv_nsec < 1000000000) clock_nanosleep(CLOCK_MONOTONIC, 0, &wait, NULL);
      continue;
    }
    int sent = sendmmsg(fd, messages, batch, 0);
    // Refused or without room: these are lost, as on the network.
    count += sent > 0 ? sent : 1;
  }
  printf("%ld\n", count);
  return 0;
}

int main(int count, char **arguments) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return fail("socket");
  struct sockaddr_in address = {.sin_family = AF_INET};
  if (count == 4 && strcmp(arguments[1], "receive") == 0) {
    address.sin_port = htons((uint16_t)atoi(arguments[2]));
    return receive(fd, &address, (int64_t)(atof(arguments[3]) * 1e9));
  }
  if (count == 7 && strcmp(arguments[1], "send") == 0 && inet_pton(AF_INET, arguments[2], &address.sin_addr) == 1) {
    address.sin_port = htons((uint16_t)atoi(arguments[3]));
    return transmit(fd, &address, (int64_t)(atof(arguments[4]) * 1e9), (size_t)atol(arguments[5]), atol(arguments[6]));
  }
  fprintf(stderr, "usage: tunnel-datagrams receive PORT SECONDS | send ADDRESS PORT SECONDS SIZE RATE\n");
  return 2;
}
