#include <ares.h>
#include <netinet/in.h>
#include <string.h>

/// SOCK_DGRAM and SOCK_STREAM, as numbers.
static const int roamward_datagram = SOCK_DGRAM, roamward_stream = SOCK_STREAM;

/// Opens a channel. `is_of_host`: for the name servers of this host, as resolv.conf has them now; otherwise for name servers that are set
/// afterwards, no others are asked, and a name is used as it is. /etc/hosts is not read. Returns an ARES_ code.
static inline int roamward_ares_open(ares_channel *channel, int is_of_host, int milliseconds_a_try, int tries, ares_sock_state_cb watch,
                                     void *context) {
  static char nothing[] = "/dev/null", servers[] = "b";
  struct ares_options options;
  memset(&options, 0, sizeof options);
  options.flags = ARES_FLAG_NOSEARCH;
  options.timeout = milliseconds_a_try;
  options.tries = tries;
  options.lookups = servers;
  options.resolvconf_path = nothing;
  options.sock_state_cb = watch;
  options.sock_state_cb_data = context;
  // In the mask, but zero: a full name needs no dot, and no search domain is added to it.
  int mask = is_of_host ? 0 : ARES_OPT_NDOTS | ARES_OPT_DOMAINS | ARES_OPT_RESOLVCONF;
  return ares_init_options(channel, &options,
                           mask | ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_SOCK_STATE_CB);
}

/// The address in network order, 4 or 16 bytes into `bytes`, and the port. Returns the byte count, 0 for any other family.
static inline int roamward_ares_destination(const struct sockaddr *address, unsigned char bytes[16], unsigned short *port) {
  if (address->sa_family == AF_INET) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
    memcpy(bytes, &v4->sin_addr, 4);
    *port = ntohs(v4->sin_port);
    return 4;
  }
  if (address->sa_family == AF_INET6) {
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
    memcpy(bytes, &v6->sin6_addr, 16);
    *port = ntohs(v6->sin6_port);
    return 16;
  }
  return 0;
}

/// The address of a node, as above.
static inline int roamward_ares_address(const struct ares_addrinfo_node *node, unsigned char bytes[16]) {
  unsigned short port;
  return roamward_ares_destination(node->ai_addr, bytes, &port);
}
