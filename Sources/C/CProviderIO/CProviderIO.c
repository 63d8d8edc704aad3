#define _GNU_SOURCE
#include "CProviderIO.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

int cproviderio_receive(int fd, uint8_t *buffer, size_t size, uint32_t *lengths, unsigned int limit) {
  struct mmsghdr messages[CPROVIDERIO_BATCH];
  struct iovec pieces[CPROVIDERIO_BATCH];
  if (limit > CPROVIDERIO_BATCH) limit = CPROVIDERIO_BATCH;
  memset(messages, 0, sizeof messages);
  for (unsigned int i = 0; i < limit; i++) {
    pieces[i] = (struct iovec){buffer + i * size, size};
    messages[i].msg_hdr.msg_iov = &pieces[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  int count;
  do count = recvmmsg(fd, messages, limit, MSG_DONTWAIT, NULL);
  while (count < 0 && errno == EINTR);
  for (int i = 0; i < count; i++) lengths[i] = messages[i].msg_hdr.msg_flags & MSG_TRUNC ? 0 : messages[i].msg_len;
  return count;
}

int cproviderio_send(int fd, const uint8_t *buffer, const uint32_t *lengths, unsigned int count) {
  struct mmsghdr messages[CPROVIDERIO_BATCH];
  struct iovec pieces[CPROVIDERIO_BATCH];
  if (count > CPROVIDERIO_BATCH) count = CPROVIDERIO_BATCH;
  memset(messages, 0, sizeof messages);
  for (unsigned int i = 0; i < count; i++) {
    pieces[i] = (struct iovec){(void *)buffer, lengths[i]};
    buffer += lengths[i];
    messages[i].msg_hdr.msg_iov = &pieces[i];
    messages[i].msg_hdr.msg_iovlen = 1;
  }
  int sent;
  do sent = sendmmsg(fd, messages, count, MSG_DONTWAIT | MSG_NOSIGNAL);
  while (sent < 0 && errno == EINTR);
  return sent;
}

int cproviderio_read_packets(int fd, uint8_t *buffer, size_t size, uint32_t *lengths, unsigned int limit) {
  unsigned int count = 0;
  while (count < limit) {
    ssize_t length = read(fd, buffer + count * size, size);
    if (length < 0 && errno == EINTR) continue;
    if (length < 0) return count > 0 ? (int)count : -1;
    // A device has no end; a socket that stands for one in tests has.
    if (length == 0) return (int)count;
    lengths[count++] = (uint32_t)length;
  }
  return (int)count;
}

int cproviderio_set_nonblocking(int fd) {
  int flags = fcntl(fd, F_GETFL);
  return flags < 0 ? -1 : fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

int cproviderio_take_error(int fd) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0 ? errno : error;
}
