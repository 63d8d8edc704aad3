// One GET by libcurl at a time, driven from outside: who calls watches its sockets and its clock.
//
// libcurl is loaded when the first request is made, and not before: with what it brings along (33 libraries)
// it makes a process 6 MB larger.
#ifndef CCURL_H
#define CCURL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>

/// What to send, and how.
struct ccurl_request {
  const char *url;
  /// CURLOPT_RESOLVE: `HOST:PORT:ADDRESS,ADDRESS`. NULL where the URL names an address.
  const char *addresses;
  /// CURLOPT_PINNEDPUBLICKEY. Not NULL: the key has to be one of these, and the certificate is not looked at.
  const char *pins;
  /// A whole header line, or NULL.
  const char *header;
  /// SO_BINDTODEVICE; NULL: none.
  const char *link;
  /// SO_MARK; 0: none.
  uint32_t mark;
  /// Bytes of the body that are kept; reading ends there. 0: it ends with the headers.
  size_t body_limit;
};

/// How it ended.
struct ccurl_outcome {
  /// The status of the answer; 0: there was none.
  long status;
  const unsigned char *body;
  size_t length;
  /// What went wrong, in libcurl's words; empty where nothing did.
  const char *reason;
  /// Whether somebody answered who is not who was asked for: a certificate or a key that is not right.
  int is_impostor;
  /// What the kernel refused to do with the socket, and its errno; NULL: nothing.
  const char *refused;
  int error;
};

typedef struct ccurl_transfer ccurl_transfer;

/// A socket is to be watched for these from here on; for neither: not any more.
typedef void (*ccurl_watch)(void *context, int socket, int readable, int writable);
/// `ccurl_process` is to be called with socket -1 after so many milliseconds; -1: not any more.
typedef void (*ccurl_pace)(void *context, long milliseconds);

/// Loads libcurl. NULL, or why it cannot be had; that lasts.
const char *ccurl_load(void);

/// Begins; NULL when memory is short. `watch` and `pace` are called from within this and `ccurl_process` alone.
ccurl_transfer *ccurl_open(const struct ccurl_request *request, ccurl_watch watch, ccurl_pace pace, void *context);

/// Goes on, because something is ready or, with socket -1, because it is time. 1 when it is over, and `outcome`
/// is set, which holds until close.
int ccurl_process(ccurl_transfer *transfer, int socket, int readable, int writable, int broken, struct ccurl_outcome *outcome);

/// Ends it, whatever its state; nothing is called any more.
void ccurl_close(ccurl_transfer *transfer);

#endif
