#define _GNU_SOURCE
#include "CWireGuardIO.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/if_tun.h>
#include <linux/netlink.h>
#include <linux/pkt_sched.h>
#include <linux/rtnetlink.h>
#include <malloc.h>
#include <net/if.h>
#include <netinet/udp.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#define UDP_GRO 104
#endif

// --- TUN -----------------------------------------------------------------------------------------------------------

static int named(struct ifreq *request, const char *name) {
  memset(request, 0, sizeof *request);
  if (strlen(name) >= IFNAMSIZ) {
    errno = ENAMETOOLONG;
    return -1;
  }
  strcpy(request->ifr_name, name);
  return 0;
}

static int open_queue(const char *name, int virtio, int flags) {
  struct ifreq request;
  if (named(&request, name) < 0) return -1;
  request.ifr_flags = (short)(IFF_TUN | IFF_NO_PI | (virtio ? IFF_VNET_HDR : 0) | flags);
  int fd = open("/dev/net/tun", O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return -1;
  if (ioctl(fd, TUNSETIFF, &request) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int cwg_tun_open(const char *name, int virtio, int queues) {
  // Without IFF_TUN_EXCL, a device with several queues would be shared with the program that has it.
  if (queues > 1) {
    int fd = open_queue(name, virtio, IFF_MULTI_QUEUE | IFF_TUN_EXCL);
    if (fd >= 0 || errno != EBUSY) return fd;
  }
  int fd = open_queue(name, virtio, 0);
  // It exists, with several queues.
  if (fd < 0 && errno == EINVAL && if_nametoindex(name) != 0) errno = EBUSY;
  return fd;
}

int cwg_tun_add_queue(const char *name, int virtio) { return open_queue(name, virtio, IFF_MULTI_QUEUE); }

int cwg_tun_set_offload(int fd, unsigned int offloads) { return ioctl(fd, TUNSETOFFLOAD, (unsigned long)offloads); }

int cwg_tun_describe(int fd, int *virtio, int *is_multi_queue, char *name) {
  struct ifreq request;
  memset(&request, 0, sizeof request);
  if (ioctl(fd, TUNGETIFF, &request) < 0) return -1;
  *virtio = (request.ifr_flags & IFF_VNET_HDR) != 0;
  *is_multi_queue = (request.ifr_flags & IFF_MULTI_QUEUE) != 0;
  memcpy(name, request.ifr_name, IFNAMSIZ);
  return 0;
}

const uint32_t cwg_tun_rises = EPOLLOUT | EPOLLET;

int cwg_tun_state(int fd) {
  struct ifreq request;
  if (ioctl(fd, TUNGETIFF, &request) < 0) return CWG_TUN_GONE;
  // A device that is down accepts no packets (tun_chr_poll of the kernel). One that is up always does: its send buffer is unlimited.
  struct pollfd device = {.fd = fd, .events = POLLOUT};
  return poll(&device, 1, 0) > 0 && (device.revents & POLLOUT) ? CWG_TUN_UP : CWG_TUN_DOWN;
}

static int interface_request(unsigned long operation, struct ifreq *request) {
  int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  int result = ioctl(fd, operation, request);
  int error = errno;
  close(fd);
  errno = error;
  return result;
}

int cwg_set_queue_length(const char *name, int packets) {
  struct ifreq request;
  if (named(&request, name) < 0) return -1;
  request.ifr_qlen = packets;
  return interface_request(SIOCSIFTXQLEN, &request);
}

// A filter for netlink messages. It passes only this link, and addresses except those of link scope, which come and go with every
// container. Loads are in network order, the messages in the machine's.
static int filter_links(int fd, unsigned int index) {
  struct sock_filter program[] = {
      BPF_STMT(BPF_LD | BPF_H | BPF_ABS, offsetof(struct nlmsghdr, nlmsg_type)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWLINK), 3, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELLINK), 2, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_NEWADDR), 4, 0),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htons(RTM_DELADDR), 3, 5),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NLMSG_HDRLEN + offsetof(struct ifinfomsg, ifi_index)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, htonl(index), 3, 0),
      BPF_STMT(BPF_RET | BPF_K, 0),
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, NLMSG_HDRLEN + offsetof(struct ifaddrmsg, ifa_scope)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, RT_SCOPE_LINK, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, UINT32_MAX),
      BPF_STMT(BPF_RET | BPF_K, 0),
  };
  struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
  return setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter);
}

int cwg_link_watch(unsigned int index) {
  int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
  if (fd < 0) return -1;
  struct sockaddr_nl address = {.nl_family = AF_NETLINK, .nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR};
  if (filter_links(fd, index) == 0 && bind(fd, (struct sockaddr *)&address, sizeof address) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int cwg_link_watch_routes(int fd, int on) {
  static const int groups[] = {RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE, RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE};
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    int option = on ? NETLINK_ADD_MEMBERSHIP : NETLINK_DROP_MEMBERSHIP;
    if (setsockopt(fd, SOL_NETLINK, option, &groups[i], sizeof groups[i]) < 0) return -1;
  }
  return 0;
}

int cwg_link_ask(int fd, unsigned int index) {
  struct {
    struct nlmsghdr header;
    struct ifinfomsg link;
  } request = {
      .header = {.nlmsg_len = sizeof request, .nlmsg_type = RTM_GETLINK, .nlmsg_flags = NLM_F_REQUEST},
      .link = {.ifi_family = AF_UNSPEC, .ifi_index = (int)index},
  };
  return send(fd, &request, sizeof request, 0) < 0 ? -1 : 0;
}

int cwg_link_read(int fd, unsigned int index, int *is_up, int *mtu) {
  _Alignas(struct nlmsghdr) char buffer[32768];
  ssize_t length = recv(fd, buffer, sizeof buffer, 0);
  if (length < 0) return errno == ENOBUFS ? CWG_LINK_LOST : errno == EINTR ? CWG_LINK_NOTHING : -1;
  int result = CWG_LINK_NOTHING;
  unsigned int left = (unsigned int)length;
  for (struct nlmsghdr *message = (struct nlmsghdr *)buffer; NLMSG_OK(message, left); message = NLMSG_NEXT(message, left)) {
    // The answer to `cwg_link_ask`: the link does not exist.
    if (message->nlmsg_type == NLMSG_ERROR) return CWG_LINK_GONE;
    if (message->nlmsg_type != RTM_NEWLINK && message->nlmsg_type != RTM_DELLINK) {
      if (result == CWG_LINK_NOTHING) result = CWG_WAYS_CHANGED;
      continue;
    }
    if (message->nlmsg_len < NLMSG_LENGTH(sizeof(struct ifinfomsg))) continue;
    struct ifinfomsg *link = NLMSG_DATA(message);
    if ((unsigned int)link->ifi_index != index || link->ifi_family != AF_UNSPEC) continue;
    if (message->nlmsg_type == RTM_DELLINK) return CWG_LINK_GONE;
    result = CWG_LINK_CHANGED;
    *is_up = (link->ifi_flags & IFF_UP) != 0;
    int rest = (int)IFLA_PAYLOAD(message);
    for (struct rtattr *attribute = IFLA_RTA(link); RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest)) {
      if (attribute->rta_type == IFLA_MTU && RTA_PAYLOAD(attribute) == sizeof *mtu) memcpy(mtu, RTA_DATA(attribute), sizeof *mtu);
    }
  }
  return result;
}

int cwg_get_mtu(const char *name) {
  struct ifreq request;
  if (named(&request, name) < 0) return -1;
  return interface_request(SIOCGIFMTU, &request) < 0 ? -1 : request.ifr_mtu;
}

int cwg_route_socket(void) { return socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE); }

static void append(struct nlmsghdr *message, unsigned short type, const void *value, unsigned short size) {
  struct rtattr *attribute = (struct rtattr *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));
  attribute->rta_type = type;
  attribute->rta_len = RTA_LENGTH(size);
  memcpy(RTA_DATA(attribute), value, size);
  message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + RTA_ALIGN(attribute->rta_len);
}

int cwg_queue_nothing(const char *name) {
  _Alignas(struct nlmsghdr) char buffer[256] = {0};
  struct nlmsghdr *request = (struct nlmsghdr *)buffer;
  request->nlmsg_len = NLMSG_LENGTH(sizeof(struct tcmsg));
  request->nlmsg_type = RTM_NEWQDISC;
  request->nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK | NLM_F_CREATE | NLM_F_REPLACE;
  struct tcmsg *qdisc = NLMSG_DATA(request);
  qdisc->tcm_family = AF_UNSPEC;
  qdisc->tcm_ifindex = (int)if_nametoindex(name);
  qdisc->tcm_parent = TC_H_ROOT;
  append(request, TCA_KIND, "noqueue", sizeof "noqueue");
  int fd = cwg_route_socket();
  if (fd < 0) return -1;
  int code = EIO;
  if (send(fd, request, request->nlmsg_len, 0) >= 0) {
    ssize_t length = recv(fd, buffer, sizeof buffer, 0);
    if (length >= (ssize_t)NLMSG_LENGTH(sizeof(struct nlmsgerr))) code = -((struct nlmsgerr *)NLMSG_DATA(buffer))->error;
  }
  close(fd);
  errno = code;
  return code == 0 ? 0 : -1;
}

int cwg_route(int fd, const cwg_address *to, const cwg_local *from, uint32_t mark, uint32_t *link, cwg_local *chosen) {
  static uint32_t sequence;
  union {
    struct nlmsghdr header;
    char bytes[NLMSG_SPACE(sizeof(struct rtmsg)) + 128];
  } request;
  memset(&request, 0, sizeof request);
  int is_v6 = to->generic.sa_family == AF_INET6;
  unsigned short size = is_v6 ? 16 : 4;
  request.header.nlmsg_len = NLMSG_LENGTH(sizeof(struct rtmsg));
  request.header.nlmsg_type = RTM_GETROUTE;
  request.header.nlmsg_flags = NLM_F_REQUEST;
  request.header.nlmsg_seq = ++sequence;
  struct rtmsg *route = NLMSG_DATA(&request.header);
  route->rtm_family = (unsigned char)to->generic.sa_family;
  route->rtm_dst_len = (unsigned char)(8 * size);
  route->rtm_src_len = from ? route->rtm_dst_len : 0;
  append(&request.header, RTA_DST, is_v6 ? (const void *)&to->v6.sin6_addr : (const void *)&to->v4.sin_addr, size);
  if (from) append(&request.header, RTA_SRC, from->bytes, size);
  if (mark) append(&request.header, RTA_MARK, &mark, sizeof mark);
  if (is_v6 && to->v6.sin6_scope_id) append(&request.header, RTA_OIF, &to->v6.sin6_scope_id, sizeof to->v6.sin6_scope_id);
  if (send(fd, &request, request.header.nlmsg_len, 0) < 0) return -1;
  while (1) {
    _Alignas(struct nlmsghdr) char buffer[8192];
    // The kernel has answered before send(2) returned.
    ssize_t length = recv(fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (length < 0) return -1;
    struct nlmsghdr *answer = (struct nlmsghdr *)buffer;
    if (!NLMSG_OK(answer, (unsigned int)length) || answer->nlmsg_seq != sequence) continue;
    if (answer->nlmsg_type != RTM_NEWROUTE) {
      errno = ENETUNREACH;
      return -1;
    }
    *link = 0;
    memset(chosen, 0, sizeof *chosen);
    int rest = (int)RTM_PAYLOAD(answer);
    for (struct rtattr *attribute = RTM_RTA(NLMSG_DATA(answer)); RTA_OK(attribute, rest); attribute = RTA_NEXT(attribute, rest)) {
      if (attribute->rta_type == RTA_OIF && RTA_PAYLOAD(attribute) == sizeof *link) memcpy(link, RTA_DATA(attribute), sizeof *link);
      if (attribute->rta_type == RTA_PREFSRC && RTA_PAYLOAD(attribute) == size) memcpy(chosen->bytes, RTA_DATA(attribute), size);
    }
    return 0;
  }
}

// --- UDP -----------------------------------------------------------------------------------------------------------

static socklen_t length_of(const cwg_address *address) {
  return address->generic.sa_family == AF_INET6 ? sizeof address->v6 : sizeof address->v4;
}

static int set(int fd, int level, int option, int value) { return setsockopt(fd, level, option, &value, sizeof value); }

static int open_udp(int family, uint16_t port, int is_shared) {
  int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, IPPROTO_UDP);
  if (fd < 0) return -1;
  cwg_address address;
  memset(&address, 0, sizeof address);
  address.generic.sa_family = (sa_family_t)family;
  int result;
  if (family == AF_INET6) {
    address.v6.sin6_port = htons(port);
    result = set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1) | set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1) |
             set(fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1) | set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
  } else {
    address.v4.sin_port = htons(port);
    result =
        set(fd, IPPROTO_IP, IP_RECVTOS, 1) | set(fd, IPPROTO_IP, IP_PKTINFO, 1) | set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
  }
  result |= set(fd, SOL_SOCKET, SO_TIMESTAMPNS, 1);
  if (is_shared) result |= set(fd, SOL_SOCKET, SO_REUSEPORT, 1);
  if (result == 0 && bind(fd, &address.generic, length_of(&address)) == 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int cwg_udp_open(int family, uint16_t port) { return open_udp(family, port, 0); }

int cwg_udp_open_beside(int first, int family) {
  if (set(first, SOL_SOCKET, SO_REUSEPORT, 1) < 0) return -1;
  return open_udp(family, cwg_udp_port(first), 1);
}

int cwg_udp_steer(int first, unsigned int shards, unsigned int sockets) {
  // Offsets are those in the UDP payload. A load beyond its end returns 0: the first socket.
  struct sock_filter program[] = {
      // The message's type: its first byte.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 0),
      // A transport message has a receiver index.
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 4, 1, 0),
      // Everything else: the first socket.
      BPF_STMT(BPF_RET | BPF_K, 0),
      // The lowest byte of the index, which is little-endian.
      BPF_STMT(BPF_LD | BPF_B | BPF_ABS, 4),
      // The shard.
      BPF_STMT(BPF_ALU | BPF_AND | BPF_K, shards - 1),
      // Its socket.
      BPF_STMT(BPF_ALU | BPF_MOD | BPF_K, sockets),
      BPF_STMT(BPF_RET | BPF_A, 0),
  };
  struct sock_fprog filter = {.len = sizeof program / sizeof *program, .filter = program};
  return setsockopt(first, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, &filter, sizeof filter);
}

uint16_t cwg_udp_port(int fd) {
  cwg_address address;
  socklen_t length = sizeof address;
  memset(&address, 0, sizeof address);
  if (getsockname(fd, &address.generic, &length) < 0) return 0;
  return ntohs(address.generic.sa_family == AF_INET6 ? address.v6.sin6_port : address.v4.sin_port);
}

void cwg_set_buffers(int fd, int receive, int send) {
  if (set(fd, SOL_SOCKET, SO_RCVBUFFORCE, receive) < 0) set(fd, SOL_SOCKET, SO_RCVBUF, receive);
  if (set(fd, SOL_SOCKET, SO_SNDBUFFORCE, send) < 0) set(fd, SOL_SOCKET, SO_SNDBUF, send);
}

int cwg_set_mark(int fd, uint32_t mark) { return setsockopt(fd, SOL_SOCKET, SO_MARK, &mark, sizeof mark); }

int cwg_udp_set_gro(int fd, int on) { return set(fd, IPPROTO_UDP, UDP_GRO, on); }

int cwg_udp_has_gso(int fd) {
  int value;
  socklen_t length = sizeof value;
  return getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &value, &length) == 0;
}

// Space for the segment size, the traffic class, a local address and the time of arrival.
union control {
  struct cmsghdr header;
  char bytes[CMSG_SPACE(sizeof(int)) * 4 + CMSG_SPACE(sizeof(struct in6_pktinfo)) + CMSG_SPACE(sizeof(struct timespec))];
};

// Appends one control message.
static void add_control(struct msghdr *header, union control *room, int level, int type, const void *value, size_t size) {
  struct cmsghdr *control = (struct cmsghdr *)(room->bytes + header->msg_controllen);
  control->cmsg_level = level;
  control->cmsg_type = type;
  control->cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(control), value, size);
  header->msg_control = room;
  header->msg_controllen += CMSG_SPACE(size);
}

static void add_source(struct msghdr *header, union control *room, int is_v6, const cwg_local *from) {
  if (is_v6) {
    struct in6_pktinfo info = {.ipi6_ifindex = 0};
    memcpy(&info.ipi6_addr, from->bytes, 16);
    add_control(header, room, IPPROTO_IPV6, IPV6_PKTINFO, &info, sizeof info);
  } else {
    struct in_pktinfo info = {.ipi_ifindex = 0};
    memcpy(&info.ipi_spec_dst, from->bytes, 4);
    add_control(header, room, IPPROTO_IP, IP_PKTINFO, &info, sizeof info);
  }
}

static void fill_header(struct mmsghdr *entry, union control *room, const cwg_outgoing *message, const cwg_local *from) {
  struct msghdr *header = &entry->msg_hdr;
  int is_v6 = message->to->generic.sa_family == AF_INET6;
  header->msg_name = (void *)&message->to->generic;
  header->msg_namelen = length_of(message->to);
  header->msg_iov = (struct iovec *)message->pieces;
  header->msg_iovlen = message->count;
  header->msg_control = NULL;
  header->msg_controllen = 0;
  header->msg_flags = 0;
  entry->msg_len = 0;
  if (message->segment != 0) add_control(header, room, IPPROTO_UDP, UDP_SEGMENT, &message->segment, sizeof message->segment);
  if (message->traffic_class != 0) {
    int value = message->traffic_class;
    add_control(header, room, is_v6 ? IPPROTO_IPV6 : IPPROTO_IP, is_v6 ? IPV6_TCLASS : IP_TOS, &value, sizeof value);
  }
  if (from) add_source(header, room, is_v6, from);
}

int cwg_send(int fd, const cwg_outgoing *messages, unsigned int count) {
  struct mmsghdr headers[CWG_BATCH];
  union control controls[CWG_BATCH];
  if (count > CWG_BATCH) count = CWG_BATCH;
  for (unsigned int i = 0; i < count; i++) fill_header(&headers[i], &controls[i], &messages[i], messages[i].from);
  int sent = sendmmsg(fd, headers, count, MSG_NOSIGNAL);
  if (sent >= 0) return sent;
  if (errno == EAGAIN) {
    // The device is slower than we are. Waiting moves the queue in front of the tunnel, where the senders notice it.
    struct pollfd room = {.fd = fd, .events = POLLOUT};
    poll(&room, 1, 100);
    return sendmmsg(fd, headers, count, MSG_NOSIGNAL);
  }
  if (messages->from && (errno == EINVAL || errno == ENETUNREACH || errno == EADDRNOTAVAIL)) {
    // The address is no longer local. Control will be told soon; until then the routing table chooses.
    fill_header(&headers[0], &controls[0], messages, NULL);
    return sendmmsg(fd, headers, 1, MSG_NOSIGNAL);
  }
  return sent;
}

int cwg_can_send(int fd) {
  struct pollfd room = {.fd = fd, .events = POLLOUT};
  return poll(&room, 1, 0) == 1;
}

static void read_controls(struct msghdr *header, const struct timespec *now, cwg_incoming *message) {
  for (struct cmsghdr *control = CMSG_FIRSTHDR(header); control; control = CMSG_NXTHDR(header, control)) {
    if (control->cmsg_level == IPPROTO_UDP && control->cmsg_type == UDP_GRO) {
      int segment;
      memcpy(&segment, CMSG_DATA(control), sizeof segment);
      if (segment > 0) message->segment = (uint32_t)segment;
    } else if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_TOS) {
      message->traffic_class = *CMSG_DATA(control);
    } else if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_TCLASS) {
      int value;
      memcpy(&value, CMSG_DATA(control), sizeof value);
      message->traffic_class = (uint8_t)value;
    } else if (control->cmsg_level == IPPROTO_IP && control->cmsg_type == IP_PKTINFO) {
      struct in_pktinfo info;
      memcpy(&info, CMSG_DATA(control), sizeof info);
      memcpy(message->to.bytes, &info.ipi_addr, sizeof info.ipi_addr);
      message->link = (uint32_t)info.ipi_ifindex;
    } else if (control->cmsg_level == IPPROTO_IPV6 && control->cmsg_type == IPV6_PKTINFO) {
      struct in6_pktinfo info;
      memcpy(&info, CMSG_DATA(control), sizeof info);
      memcpy(message->to.bytes, &info.ipi6_addr, sizeof info.ipi6_addr);
      message->link = (uint32_t)info.ipi6_ifindex;
    } else if (control->cmsg_level == SOL_SOCKET && control->cmsg_type == SCM_TIMESTAMPNS) {
      struct timespec arrival;
      memcpy(&arrival, CMSG_DATA(control), sizeof arrival);
      int64_t waited = (now->tv_sec - arrival.tv_sec) * INT64_C(1000000000) + (now->tv_nsec - arrival.tv_nsec);
      // Ignore an implausible or negative time: the wall clock has been set meanwhile.
      if (waited > 0 && waited < INT64_C(4000000000)) message->waited = (uint32_t)waited;
    }
  }
}

int cwg_receive(int fd, uint8_t *buffers, size_t size, size_t stride, cwg_incoming *messages, unsigned int count) {
  struct mmsghdr headers[CWG_BATCH];
  struct iovec pieces[CWG_BATCH];
  union control controls[CWG_BATCH];
  if (count > CWG_BATCH) count = CWG_BATCH;
  for (unsigned int i = 0; i < count; i++) {
    pieces[i].iov_base = buffers + i * stride;
    pieces[i].iov_len = size;
    headers[i].msg_hdr = (struct msghdr){
        .msg_name = &messages[i].from,
        .msg_namelen = sizeof messages[i].from,
        .msg_iov = &pieces[i],
        .msg_iovlen = 1,
        .msg_control = &controls[i],
        .msg_controllen = sizeof controls[i],
    };
  }
  int received = recvmmsg(fd, headers, count, MSG_DONTWAIT, NULL);
  struct timespec now = {0};
  if (received > 0) clock_gettime(CLOCK_REALTIME, &now);
  for (int i = 0; i < received; i++) {
    cwg_incoming *message = &messages[i];
    message->length = headers[i].msg_len;
    message->segment = headers[i].msg_len;
    message->waited = 0;
    message->traffic_class = 0;
    memset(&message->to, 0, sizeof message->to);
    message->link = 0;
    message->is_truncated = (headers[i].msg_hdr.msg_flags & MSG_TRUNC) != 0;
    read_controls(&headers[i].msg_hdr, &now, message);
  }
  return received;
}

// --- descriptors ---------------------------------------------------------------------------------------------------

int cwg_send_descriptors(int socket, const int *descriptors, int count) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * CWG_DESCRIPTORS)];
  } control;
  if (count < 1 || count > CWG_DESCRIPTORS) {
    errno = EINVAL;
    return -1;
  }
  char byte = 0;
  struct iovec piece = {.iov_base = &byte, .iov_len = 1};
  size_t size = sizeof(int) * (size_t)count;
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(size)};
  memset(&control, 0, sizeof control);
  control.header.cmsg_level = SOL_SOCKET;
  control.header.cmsg_type = SCM_RIGHTS;
  control.header.cmsg_len = CMSG_LEN(size);
  memcpy(CMSG_DATA(&control.header), descriptors, size);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1 ? 0 : -1;
}

int cwg_take_descriptors(int socket, int *descriptors, int limit, int *code) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int) * CWG_DESCRIPTORS)];
  } control;
  int value = 0;
  struct iovec piece = {.iov_base = &value, .iov_len = sizeof value};
  struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
  ssize_t length = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
  if (length < 0) return -1;
  if (length == sizeof value) *code = value;
  int count = 0;
  for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    int here = (int)((header->cmsg_len - CMSG_LEN(0)) / sizeof(int));
    for (int i = 0; i < here; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(header) + sizeof(int) * (size_t)i, sizeof fd);
      if (count < limit) {
        descriptors[count++] = fd;
      } else {
        close(fd);
      }
    }
  }
  return count;
}

// --- waiting -------------------------------------------------------------------------------------------------------

int cwg_event(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int cwg_poller(void) { return epoll_create1(EPOLL_CLOEXEC); }

void cwg_event_raise(int fd) {
  uint64_t one = 1;
  // It fails only if the event is already set.
  ssize_t written = write(fd, &one, sizeof one);
  (void)written;
}

void cwg_event_clear(int fd) {
  uint64_t count;
  ssize_t taken = read(fd, &count, sizeof count);
  (void)taken;
}

int cwg_poller_add(int poller, int fd, uint32_t identity) {
  struct epoll_event event = {.events = EPOLLIN, .data = {.u32 = identity}};
  return epoll_ctl(poller, EPOLL_CTL_ADD, fd, &event);
}

int cwg_replace(int fd, int place) { return dup3(fd, place, O_CLOEXEC) < 0 ? -1 : 0; }

void cwg_use_one_arena(void) {
  mallopt(M_ARENA_MAX, 1);
  // Its initial value, which would rise with the first large buffer that is released.
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
}

int cwg_take_short_turns(uint32_t nanoseconds) {
  // As in linux/sched/types.h, parts of which older systems lack.
  struct {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
  } attributes = {.size = 48};
  if (syscall(SYS_sched_getattr, 0, &attributes, 48u, 0u) < 0) return -1;
  attributes.runtime = nanoseconds;
  return (int)syscall(SYS_sched_setattr, 0, &attributes, 0u);
}

int cwg_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

void cwg_name_thread(pthread_t thread, const char *name) { pthread_setname_np(thread, name); }

int cwg_poller_remove(int poller, int fd) { return epoll_ctl(poller, EPOLL_CTL_DEL, fd, NULL); }

int cwg_poller_wait(int poller, uint32_t *identities, int limit, int milliseconds) {
  struct epoll_event events[16];
  if (limit > 16) limit = 16;
  int count = epoll_wait(poller, events, limit, milliseconds);
  if (count < 0) return errno == EINTR ? 0 : -1;
  for (int i = 0; i < count; i++) identities[i] = events[i].data.u32;
  return count;
}

// --- the socket's file ---------------------------------------------------------------------------------------------

int cwg_deletion_watch(const char *folder) {
  int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);
  if (fd < 0) return -1;
  if (inotify_add_watch(fd, folder, IN_DELETE | IN_MOVED_FROM | IN_DELETE_SELF | IN_ONLYDIR) >= 0) return fd;
  int error = errno;
  close(fd);
  errno = error;
  return -1;
}

int cwg_deletion_read(int fd, const char *name) {
  _Alignas(struct inotify_event) char buffer[4096];
  ssize_t length;
  while ((length = read(fd, buffer, sizeof buffer)) > 0) {
    for (char *place = buffer; place < buffer + length;) {
      const struct inotify_event *event = (const struct inotify_event *)place;
      if (event->mask & IN_DELETE_SELF) return 1;
      if (event->len > 0 && strcmp(event->name, name) == 0) return 1;
      place += sizeof *event + event->len;
    }
  }
  return 0;
}
