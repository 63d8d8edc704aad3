// Kernel interfaces of the data path that Swift cannot import: control messages, batches of datagrams, ioctls, the constants of the virtio
// header.
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

/// Opens /dev/net/tun and creates, or attaches to, the layer-3 device of this name. No packet information; a virtio header of ten bytes if
/// `virtio` requests it. `queues`: more than 1: creates a device with several queues; one that exists already keeps its single queue.
/// Non-blocking, close-on-exec. A descriptor, or -1 with errno (EBUSY: another program has the device).
int cwg_tun_open(const char *name, int virtio, int queues);

/// Adds a queue to a device with several queues. A descriptor, or -1 with errno.
int cwg_tun_add_queue(const char *name, int virtio);

/// TUNSETOFFLOAD. 0, or -1 with errno (EINVAL: an offload that the kernel does not have).
int cwg_tun_set_offload(int fd, unsigned int offloads);

/// Reports if the device was opened with a virtio header, if it has several queues, and its name (at least 16 bytes). 0, or -1 with errno.
int cwg_tun_describe(int fd, int *virtio, int *is_multi_queue, char *name);

/// Reports if the device still exists and is up, in whatever network namespace it is now, without any privilege.
enum { CWG_TUN_GONE = -1, CWG_TUN_DOWN = 0, CWG_TUN_UP = 1 };
int cwg_tun_state(int fd);

/// EPOLLOUT and EPOLLET: the event when a device's link comes up.
extern const uint32_t cwg_tun_rises;

/// SIOCSIFTXQLEN by name. 0, or -1 with errno.
int cwg_set_queue_length(const char *name, int packets);

/// Takes the queueing discipline from a link. 0, or -1 with errno.
int cwg_queue_nothing(const char *name);

/// A non-blocking netlink socket for changes of the link with this index, and of addresses, in its network namespace. A descriptor, or -1
/// with errno.
int cwg_link_watch(unsigned int index);

/// Subscribes to changes of routes and rules too, or unsubscribes. 0, or -1 with errno.
int cwg_link_watch_routes(int fd, int on);

/// Requests the current state of the link from the kernel. 0, or -1 with errno.
int cwg_link_ask(int fd, unsigned int index);

enum { CWG_LINK_NOTHING = 0, CWG_LINK_CHANGED = 1, CWG_LINK_GONE = 2, CWG_LINK_LOST = 3, CWG_WAYS_CHANGED = 4 };

/// Reads one message and fills in its data about the link with this index. CWG_LINK_GONE: it is no longer in this network namespace.
/// CWG_LINK_LOST: messages were missed, so request the state again. -1 if there is no message now.
int cwg_link_read(int fd, unsigned int index, int *is_up, int *mtu);

/// SIOCGIFMTU by name. Bytes, or -1 with errno.
int cwg_get_mtu(const char *name);

/// An address and port of either family.
typedef union {
  struct sockaddr generic;
  struct sockaddr_in v4;
  struct sockaddr_in6 v6;
} cwg_address;

/// A local address, of the family that the context determines, in network order.
typedef struct {
  uint8_t bytes[16];
} cwg_local;

/// A netlink socket for `cwg_route`. A descriptor, or -1 with errno.
int cwg_route_socket(void);

/// Queries the route to `to` of a datagram with this mark. `from`: the local address; NULL: the routing table chooses. Fills in the link
/// and that choice. 0, or -1 with errno.
int cwg_route(int fd, const cwg_address *to, const cwg_local *from, uint32_t mark, uint32_t *link, cwg_local *chosen);

/// A UDP socket of this family, bound to the port on every address (0: any), non-blocking, close-on-exec, IPv6-only for IPv6. Path-MTU
/// discovery is as in the kernel's WireGuard: datagrams may be fragmented. A descriptor, or -1 with errno.
int cwg_udp_open(int family, uint16_t port);

/// The same, bound to the port of `first`, one of ours that is alone on it until then: from now on they share it. The kernel numbers the
/// sockets of a port in this order, from 0. (SO_REUSEPORT is set on `first` only now. So the port is not shared with another program.)
int cwg_udp_open_beside(int first, int family);

/// Steers datagrams to the sockets of a port, by a program of the kernel's packet filter: a transport message by the lowest bits of its
/// receiver index, the shard, of `shards` (a power of two), modulo `sockets`; everything else to the first. 0, or -1 with errno.
int cwg_udp_steer(int first, unsigned int shards, unsigned int sockets);

/// The port that a socket is bound to, or 0.
uint16_t cwg_udp_port(int fd);

/// SO_RCVBUFFORCE and SO_SNDBUFFORCE, or without the capability SO_RCVBUF and SO_SNDBUF within the system's limits.
void cwg_set_buffers(int fd, int receive, int send);

/// SO_MARK. 0, or -1 with errno.
int cwg_set_mark(int fd, uint32_t mark);

/// UDP_GRO, on or off. 0, or -1 with errno.
int cwg_udp_set_gro(int fd, int on);

/// True if the kernel supports UDP_SEGMENT.
int cwg_udp_has_gso(int fd);

/// One datagram, or one run of datagrams of `segment` bytes each (the last may be shorter; 0: only one), gathered from `count` pieces.
typedef struct {
  const cwg_address *to;
  /// The source address; NULL: the routing table chooses.
  const cwg_local *from;
  const struct iovec *pieces;
  uint32_t count;
  uint16_t segment;
  /// The traffic class of the outer header.
  uint8_t traffic_class;
} cwg_outgoing;

enum { CWG_BATCH = 64 };

/// sendmmsg(2) of at most CWG_BATCH messages to sockets of one family. Returns the number of accepted messages, or -1 with errno.
int cwg_send(int fd, const cwg_outgoing *messages, unsigned int count);

/// Whether `cwg_send` would not wait: 1 if there is room for more datagrams, otherwise 0.
int cwg_can_send(int fd);

/// The contents of one received buffer: datagrams of `segment` bytes each (the last may be shorter), `length` in all.
typedef struct {
  cwg_address from;
  /// The local address and the link at which it arrived; zeros if unknown.
  cwg_local to;
  uint32_t link;
  uint32_t length;
  uint32_t segment;
  /// The waiting time in the socket in nanoseconds; 0 if unknown.
  uint32_t waited;
  uint8_t traffic_class;
  /// The buffer was too small, or the message is unusable: ignore it.
  uint8_t is_truncated;
} cwg_incoming;

/// recvmmsg(2) into at most CWG_BATCH buffers of `size` bytes that are `stride` bytes apart, without waiting. Returns the number of
/// messages, or -1 with errno.
int cwg_receive(int fd, uint8_t *buffers, size_t size, size_t stride, cwg_incoming *messages, unsigned int count);

/// The most descriptors in one message: an IPv4 and an IPv6 socket for each of sixteen threads.
enum { CWG_DESCRIPTORS = 32 };

/// Passes descriptors with one byte over a unix socket (SCM_RIGHTS), at most CWG_DESCRIPTORS. 0, or -1 with errno.
int cwg_send_descriptors(int socket, const int *descriptors, int count);

/// Receives at most `limit` of them at the other end, close-on-exec, or the errno value of four bytes that came instead. Returns the number
/// of descriptors, 0 at the end, or -1 with errno.
int cwg_take_descriptors(int socket, int *descriptors, int limit, int *code);

/// Replaces the arguments of this process, as ps(1) shows them, by `length` bytes of words that each end with a zero, and its first
/// environment variable by `variable`. The rest of the old ones becomes zeros. -1 if they take more room than the old ones.
int cwg_retitle(const char *words, size_t length, const char *variable);

/// An eventfd, an epoll descriptor: close-on-exec and non-blocking.
int cwg_event(void);
int cwg_poller(void);

/// Sets an eventfd, or clears it.
void cwg_event_raise(int fd);
void cwg_event_clear(int fd);

/// Watches a descriptor for EPOLLIN, level-triggered, under an identity.
int cwg_poller_add(int poller, int fd, uint32_t identity);
int cwg_poller_remove(int poller, int fd);

/// Waits at most `milliseconds` (-1: without a limit) and fills in the identities of readable descriptors. Returns their number, 0 when
/// interrupted or when the time is over, or -1 with errno.
int cwg_poller_wait(int poller, uint32_t *identities, int limit, int milliseconds);

/// Atomically replaces the descriptor `place` by a duplicate of `fd`, close-on-exec. 0, or -1 with errno.
int cwg_replace(int fd, int place);

/// Requests a scheduler slice of this length for the calling thread: the same share of the processor, but sooner (EEVDF, Linux 6.12). 0, or
/// -1 with errno.
int cwg_take_short_turns(uint32_t nanoseconds);

/// The number of processors that this process may use, at least 1.
int cwg_processors(void);

/// From now on all threads take memory from one arena. A thread's own would be made at its first packet, in a tenth of a millisecond. Large
/// buffers are mappings of their own, whose memory the kernel gets back when they are released.
void cwg_use_one_arena(void);

/// Sets a thread's name in ps(1) and top(1): at most 15 bytes.
void cwg_name_thread(pthread_t thread, const char *name);

/// A non-blocking inotify descriptor for files that are removed from a folder. A descriptor, or -1 with errno.
int cwg_deletion_watch(const char *folder);

/// Reads its events: 1 if the file of this name, or the folder, was removed.
int cwg_deletion_read(int fd, const char *name);

/// Allows only the system calls of a running interface, from now on and on every thread; all others fail with EPERM. No new socket, file,
/// thread or program, and no memory that becomes executable. 0, or a negative errno value.
int cwg_confine(void);

/// Does the part of `cwg_confine` that takes time, in advance. Call it from the process that is confined: its number is in the filter. 0,
/// or a negative errno value.
int cwg_prepare_confinement(void);

#endif
