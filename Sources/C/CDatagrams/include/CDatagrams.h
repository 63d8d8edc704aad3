// Batches of UDP datagrams with their addresses (recvmmsg(2), sendmmsg(2)), in one buffer.
#ifndef CDATAGRAMS_H
#define CDATAGRAMS_H

#include <stddef.h>
#include <stdint.h>

enum { CDATAGRAMS_BATCH = 64 };

/// A datagram: its place in the buffer, and the address at its other end in host byte order. IPv4 has `high` 0 and 32 bits of `low`.
typedef struct {
  uint64_t high, low;
  uint32_t offset, length;
  uint16_t port;
  uint8_t is_v6;
  /// It was longer than its place, or its address is none of the internet: ignore it.
  uint8_t is_invalid;
} cdatagrams_datagram;

/// Receives at most `limit` datagrams into places of `size` bytes, one behind the other, without waiting. Returns their number, or -1 with
/// errno (EAGAIN: there is none).
int cdatagrams_receive(int fd, uint8_t *buffer, size_t size, cdatagrams_datagram *datagrams, unsigned int limit);

/// Sends at most CDATAGRAMS_BATCH datagrams without waiting. Returns the number that the kernel took, or -1 with errno, of the first.
int cdatagrams_send(int fd, const uint8_t *buffer, const cdatagrams_datagram *datagrams, unsigned int count);

/// Watches a socket for datagrams by an epoll descriptor, under a number. 0, or -1 with errno.
int cdatagrams_watch(int poller, int fd, uint16_t number);

/// The sockets that have datagrams now, without waiting: the number above the 32 bits of the descriptor. Returns their count, at most
/// CDATAGRAMS_BATCH.
int cdatagrams_ready(int poller, uint64_t *found);

/// getrandom(2) into a buffer, at most 256 bytes. 0, or -1 with errno.
int cdatagrams_random(void *buffer, size_t size);

#endif
