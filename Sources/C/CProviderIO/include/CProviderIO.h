// Batches of datagrams and packets for providers, in one buffer with places of equal size.
#ifndef CPROVIDERIO_H
#define CPROVIDERIO_H

#include <stddef.h>
#include <stdint.h>

enum { CPROVIDERIO_BATCH = 64 };

/// Receives at most `limit` datagrams of a connected socket (recvmmsg(2)) without waiting; `lengths` gets the length of each, 0 for one
/// that was longer than its place. Returns their number, or -1 with errno.
int cproviderio_receive(int fd, uint8_t *buffer, size_t size, uint32_t *lengths, unsigned int limit);

/// Sends at most CPROVIDERIO_BATCH datagrams, one behind the other in the buffer, by a connected socket (sendmmsg(2)) without waiting.
/// Returns the number that the kernel took, or -1 with errno, of the first.
int cproviderio_send(int fd, const uint8_t *buffer, const uint32_t *lengths, unsigned int count);

/// Reads packets of a device, one for each read(2), without waiting: the descriptor has to be non-blocking. As `cproviderio_receive`.
int cproviderio_read_packets(int fd, uint8_t *buffer, size_t size, uint32_t *lengths, unsigned int limit);

/// Sets O_NONBLOCK. 0, or -1 with errno.
int cproviderio_set_nonblocking(int fd);

/// The error of a socket (SO_ERROR of socket(7)), which is reset; 0: none.
int cproviderio_take_error(int fd);

#endif
