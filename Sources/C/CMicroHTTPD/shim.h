// Wrappers of libmicrohttpd's functions with a variable number of arguments.
#include <microhttpd.h>

/// A server without a socket of its own: connections are added, and `MHD_run` is called when its descriptor is readable. `timeout`: seconds
/// without a byte until a connection ends. `memory`: of a connection, in bytes; a longer head is refused.
static inline struct MHD_Daemon *roamward_http_server(MHD_AccessHandlerCallback handle, MHD_NotifyConnectionCallback notify, void *context,
                                                      unsigned connections, unsigned timeout, size_t memory) {
  return MHD_start_daemon(MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET, 0, NULL, NULL, handle, context, MHD_OPTION_NOTIFY_CONNECTION, notify,
                          context, MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, timeout,
                          MHD_OPTION_CONNECTION_MEMORY_LIMIT, memory, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_END);
}

/// Readable when `MHD_run` has something to do; -1: unknown.
static inline int roamward_http_descriptor(struct MHD_Daemon *server) {
  const union MHD_DaemonInfo *info = MHD_get_daemon_info(server, MHD_DAEMON_INFO_EPOLL_FD);
  return info ? info->epoll_fd : -1;
}

/// The context that `notify` has noted of the connection; NULL: none.
static inline void *roamward_http_context(struct MHD_Connection *connection) {
  const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
  return info ? info->socket_context : NULL;
}
