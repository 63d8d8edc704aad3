// What the data path needs of the kernel's interface and Swift cannot import: control messages, batches of datagrams, ioctls, the
// virtio header's words.
#ifndef CWIREGUARDIO_H
#define CWIREGUARDIO_H

#include <netinet/in.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

/// Offloads of TUNSETOFFLOAD (linux/if_tun.h).
enum {
  CWG_TUN_CHECKSUM = 0x01,
  CWG_TUN_TSO4 = 0x02,
  CWG_TUN_TSO6 = 0x04,
  CWG_TUN_TSO_ECN = 0x08,
  /// Linux 6.2; not in older headers.
  CWG_TUN_USO4 = 0x20,
  CWG_TUN_USO6 = 0x40,
};

/// Opens /dev/net/tun and makes, or attaches to, the layer-3 device of this name: no packet information, and a virtio header of ten bytes
/// where `virtio` asks for it. Non-blocking, close-on-exec. A descriptor, or -1 with errno.
int cwg_tun_open(const char *name, int virtio);

/// TUNSETOFFLOAD. 0, or -1 with errno (EINVAL: an offload that the kernel does not have).
int cwg_tun_set_offload(int fd, unsigned int offloads);

/// Whether the device was opened with a virtio header, and its name (at least 16 bytes). 0, or -1 with errno.
int cwg_tun_describe(int fd, int *virtio, char *name);

/// Whether the device still exists and, if so, is up: in whatever network namespace it is by now, without any privilege.
enum { CWG_TUN_GONE = -1, CWG_TUN_DOWN = 0, CWG_TUN_UP = 1 };
int cwg_tun_state(int fd);

/// EPOLLOUT and EPOLLET: the moment in which a device's link comes up.
extern const uint32_t cwg_tun_rises;

/// SIOCSIFTXQLEN by name. 0, or -1 with errno.
int cwg_set_queue_length(const char *name, int packets);

/// A netlink socket that hears of changes of the link with this index, and of addresses, in its network namespace, non-blocking.
/// A descriptor, or -1 with errno.
int cwg_link_watch(unsigned int index);

/// Whether it hears of changes of routes and rules too. 0, or -1 with errno.
int cwg_link_watch_routes(int fd, int on);

/// Has the kernel tell it of the link as it is now. 0, or -1 with errno.
int cwg_link_ask(int fd, unsigned int index);

enum { CWG_LINK_NOTHING = 0, CWG_LINK_CHANGED = 1, CWG_LINK_GONE = 2, CWG_LINK_LOST = 3, CWG_WAYS_CHANGED = 4 };

/// Reads one message; fills in what it tells of the link with this index. CWG_LINK_GONE: it is no longer in this network namespace.
/// CWG_LINK_LOST: messages were missed, so ask anew. -1 where there is none now.
int cwg_link_read(int fd, unsigned int index, int *is_up, int *mtu);

/// SIOCGIFMTU by name. Bytes, or -1 with errno.
int cwg_get_mtu(const char *name);

/// An address and port of either family.
typedef union {
  struct sockaddr generic;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} cwg_address;

/// One of our own addresses, of the family that the context tells, in network order.
typedef struct {
  uint8_t bytes[16];
} cwg_local;

/// A netlink socket for `cwg_route`. A descriptor, or -1 with errno.
int cwg_route_socket(void);

/// Asks the routing table how a datagram with this mark would go to `to`, `from` one of our addresses or, where that is NULL, from its
/// choice; fills in the link and that choice. 0, or -1 with errno.
int cwg_route(int fd, const cwg_address *to, const cwg_local *from, uint32_t mark, uint32_t *link, cwg_local *chosen);

/// A UDP socket of this family bound to the port on every address (0: any), non-blocking, close-on-exec, IPv6 alone on IPv6; path-MTU
/// discovery as the kernel's WireGuard has it: datagrams may be fragmented. A descriptor, or -1 with errno.
int cwg_udp_open(int family, uint16_t port);

/// The port that a socket is bound to, or 0.
uint16_t cwg_udp_port(int fd);

/// SO_RCVBUFFORCE and SO_SNDBUFFORCE, or without the capability the same within the system's limits.
void cwg_set_buffers(int fd, int receive, int send);

/// SO_MARK. 0, or -1 with errno.
int cwg_set_mark(int fd, uint32_t mark);

/// UDP_GRO, on or off. 0, or -1 with errno.
int cwg_udp_set_gro(int fd, int on);

/// Whether the kernel knows UDP_SEGMENT.
int cwg_udp_has_gso(int fd);

/// One datagram, or one run of datagrams of `segment` bytes each (the last may be shorter; 0: just one), gathered from `count` pieces.
typedef struct {
  const cwg_address *to;
  /// From which address; NULL: the routing table's choice.
  const cwg_local *from;
  const struct iovec *pieces;
  uint32_t count;
  uint16_t segment;
  /// The traffic class of the outer header.
  uint8_t traffic_class;
} cwg_outgoing;

enum { CWG_BATCH = 64 };

/// sendmmsg(2) of at most CWG_BATCH messages of sockets of one family. How many were taken, or -1 with errno.
int cwg_send(int fd, const cwg_outgoing *messages, unsigned int count);

/// What was received into one buffer: datagrams of `segment` bytes each (the last may be shorter), `length` in all.
typedef struct {
  cwg_address from;
  /// Which of our addresses it came to, by which link; zeros where that is not known.
  cwg_local to;
  uint32_t link;
  uint32_t length;
  uint32_t segment;
  /// Nanoseconds for which it lay in the socket; 0 where that is not known.
  uint32_t waited;
  uint8_t traffic_class;
  /// The buffer was too small, or what came is unusable: to be passed over.
  uint8_t is_truncated;
} cwg_incoming;

/// recvmmsg(2) into at most CWG_BATCH buffers of `size` bytes that lie `stride` bytes apart, without waiting. How many
/// messages came, or -1 with errno.
int cwg_receive(int fd, uint8_t *buffers, size_t size, size_t stride, cwg_incoming *messages, unsigned int count);

/// Passes descriptors with one byte over a unix socket (SCM_RIGHTS), at most 16. 0, or -1 with errno.
int cwg_send_descriptors(int socket, const int *descriptors, int count);

/// Takes two of them at the other end, close-on-exec, or the errno value of four bytes that came instead. How many descriptors came, or -1
/// with errno.
int cwg_take_sockets(int socket, int descriptors[2], int *code);

/// An eventfd, an epoll descriptor: close-on-exec and non-blocking.
int cwg_event(void);
int cwg_poller(void);

/// Makes an eventfd readable, or reads it empty.
void cwg_event_raise(int fd);
void cwg_event_clear(int fd);

/// Watches a descriptor for EPOLLIN, level-triggered, under an identity.
int cwg_poller_add(int poller, int fd, uint32_t identity);
int cwg_poller_remove(int poller, int fd);

/// Waits without a limit of time; fills in the identities of what is readable. How many, 0 when interrupted, or -1 with errno.
int cwg_poller_wait(int poller, uint32_t *identities, int limit);

/// Puts what `fd` refers to in the place of the descriptor `place`, in one step, close-on-exec. 0, or -1 with errno.
int cwg_replace(int fd, int place);

/// Asks the scheduler for turns of this length for the calling thread: no larger share of the processor, but sooner (EEVDF,
/// Linux 6.12). 0, or -1 with errno.
int cwg_take_short_turns(uint32_t nanoseconds);

/// The name that ps(1) and top(1) show of a thread: at most 15 bytes.
void cwg_name_thread(pthread_t thread, const char *name);

/// An inotify descriptor that tells of files that go from a folder, non-blocking. A descriptor, or -1 with errno.
int cwg_deletion_watch(const char *folder);

/// Reads what it tells: 1 where the file of this name, or the folder, has gone.
int cwg_deletion_read(int fd, const char *name);

/// From here on, on every thread, only the system calls that an interface at work makes; all others fail with EPERM. No new socket, file,
/// thread or program, and no memory that becomes executable. 0, or a negative errno value.
int cwg_confine(void);

#endif
