#define _GNU_SOURCE
#include "CDatagrams.h"

#include <arpa/inet.h>
#include <endian.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>

typedef union {
  struct sockaddr generic;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} address;

static uint64_t word(const uint8_t *bytes) {
  uint64_t value;
  memcpy(&value, bytes, sizeof value);
  return be64toh(value);
}

static void set_word(uint8_t *bytes, uint64_t value) {
  value = htobe64(value);
  memcpy(bytes, &value, sizeof value);
}

int cdatagrams_receive(int fd, uint8_t *buffer, size_t size, cdatagrams_datagram *datagrams, unsigned int limit) {
  struct mmsghdr headers[CDATAGRAMS_BATCH];
  struct iovec pieces[CDATAGRAMS_BATCH];
  address from[CDATAGRAMS_BATCH];
  if (limit > CDATAGRAMS_BATCH) limit = CDATAGRAMS_BATCH;
  memset(from, 0, limit * sizeof from[0]);
  for (unsigned int i = 0; i < limit; i++) {
    pieces[i] = (struct iovec){buffer + i * size, size};
    headers[i].msg_hdr = (struct msghdr){.msg_name = &from[i], .msg_namelen = sizeof from[i], .msg_iov = &pieces[i], .msg_iovlen = 1};
  }
  int count = recvmmsg(fd, headers, limit, MSG_DONTWAIT, NULL);
  for (int i = 0; i < count; i++) {
    cdatagrams_datagram *datagram = &datagrams[i];
    *datagram = (cdatagrams_datagram){.offset = (uint32_t)((size_t)i * size), .length = headers[i].msg_len};
    if (headers[i].msg_hdr.msg_flags & MSG_TRUNC) datagram->is_invalid = 1;
    if (headers[i].msg_hdr.msg_namelen >= sizeof from[i].v4 && from[i].generic.sa_family == AF_INET) {
      datagram->low = ntohl(from[i].v4.sin_addr.s_addr);
      datagram->port = ntohs(from[i].v4.sin_port);
    } else if (headers[i].msg_hdr.msg_namelen >= sizeof from[i].v6 && from[i].generic.sa_family == AF_INET6) {
      datagram->is_v6 = 1;
      datagram->high = word(from[i].v6.sin6_addr.s6_addr);
      datagram->low = word(from[i].v6.sin6_addr.s6_addr + 8);
      datagram->port = ntohs(from[i].v6.sin6_port);
    } else {
      datagram->is_invalid = 1;
    }
  }
  return count;
}

int cdatagrams_send(int fd, const uint8_t *buffer, const cdatagrams_datagram *datagrams, unsigned int count) {
  struct mmsghdr headers[CDATAGRAMS_BATCH];
  struct iovec pieces[CDATAGRAMS_BATCH];
  address to[CDATAGRAMS_BATCH];
  if (count > CDATAGRAMS_BATCH) count = CDATAGRAMS_BATCH;
  for (unsigned int i = 0; i < count; i++) {
    const cdatagrams_datagram *datagram = &datagrams[i];
    socklen_t length;
    memset(&to[i], 0, sizeof to[i]);
    if (datagram->is_v6) {
      to[i].v6.sin6_family = AF_INET6;
      to[i].v6.sin6_port = htons(datagram->port);
      set_word(to[i].v6.sin6_addr.s6_addr, datagram->high);
      set_word(to[i].v6.sin6_addr.s6_addr + 8, datagram->low);
      length = sizeof to[i].v6;
    } else {
      to[i].v4.sin_family = AF_INET;
      to[i].v4.sin_port = htons(datagram->port);
      to[i].v4.sin_addr.s_addr = htonl((uint32_t)datagram->low);
      length = sizeof to[i].v4;
    }
    pieces[i] = (struct iovec){(void *)(uintptr_t)(buffer + datagram->offset), datagram->length};
    headers[i].msg_hdr = (struct msghdr){.msg_name = &to[i], .msg_namelen = length, .msg_iov = &pieces[i], .msg_iovlen = 1};
  }
  return sendmmsg(fd, headers, count, MSG_DONTWAIT | MSG_NOSIGNAL);
}

int cdatagrams_watch(int poller, int fd, uint16_t number) {
  struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)number << 32 | (uint32_t)fd};
  return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

int cdatagrams_ready(int poller, uint64_t *found) {
  struct epoll_event events[CDATAGRAMS_BATCH];
  int count = epoll_wait(poller, events, CDATAGRAMS_BATCH, 0);
  for (int i = 0; i < count; i++) found[i] = events[i].data.u64;
  return count > 0 ? count : 0;
}

int cdatagrams_random(void *buffer, size_t size) { return getrandom(buffer, size, 0) == (ssize_t)size ? 0 : -1; }
