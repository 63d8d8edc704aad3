#include <ares.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>

/// Opens a channel for one question. Nothing of resolv.conf is read and the name is taken as it stands. The hosts file is looked at first;
/// servers, which are to be set afterwards, are asked only where `asks_servers`. An ARES_ code.
static inline int roamward_ares_open(ares_channel *channel, int milliseconds_a_try, int tries, int asks_servers,
                                     ares_sock_state_cb watch, void *context) {
  static char nothing[] = "/dev/null", hosts_file[] = "f", hosts_file_then_servers[] = "fb";
  struct ares_options options;
  memset(&options, 0, sizeof options);
  options.flags = ARES_FLAG_NOSEARCH;
  options.timeout = milliseconds_a_try;
  options.tries = tries;
  options.lookups = asks_servers ? hosts_file_then_servers : hosts_file;
  options.resolvconf_path = nothing;
  options.sock_state_cb = watch;
  options.sock_state_cb_data = context;
  // Named in the mask and left zero: no dot is needed for a full name, and no search domain is added to it.
  int mask = ARES_OPT_NDOTS | ARES_OPT_DOMAINS;
  return ares_init_options(channel, &options,
                           mask | ARES_OPT_FLAGS | ARES_OPT_TIMEOUTMS | ARES_OPT_TRIES | ARES_OPT_LOOKUPS | ARES_OPT_RESOLVCONF |
                               ARES_OPT_SOCK_STATE_CB);
}

/// The address of a node in network order: 4 or 16 bytes into `bytes`; gives their count, 0 for any other family.
static inline int roamward_ares_address(const struct ares_addrinfo_node *node, unsigned char bytes[16]) {
  if (node->ai_family == AF_INET) {
    memcpy(bytes, &((const struct sockaddr_in *)node->ai_addr)->sin_addr, 4);
    return 4;
  }
  if (node->ai_family == AF_INET6) {
    memcpy(bytes, &((const struct sockaddr_in6 *)node->ai_addr)->sin6_addr, 16);
    return 16;
  }
  return 0;
}
