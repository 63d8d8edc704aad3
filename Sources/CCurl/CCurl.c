#define _GNU_SOURCE
#define CURL_DISABLE_TYPECHECK
#include "CCurl.h"

#include <curl/curl.h>
#include <dlfcn.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

// The types come from the header, the functions from the library that is loaded.
#undef curl_easy_setopt
#undef curl_easy_getinfo
#undef curl_multi_setopt

static struct {
  CURLcode (*global_init)(long);
  CURL *(*easy_init)(void);
  void (*easy_cleanup)(CURL *);
  CURLcode (*easy_setopt)(CURL *, CURLoption, ...);
  CURLcode (*easy_getinfo)(CURL *, CURLINFO, ...);
  const char *(*easy_strerror)(CURLcode);
  CURLM *(*multi_init)(void);
  CURLMcode (*multi_cleanup)(CURLM *);
  CURLMcode (*multi_add_handle)(CURLM *, CURL *);
  CURLMcode (*multi_remove_handle)(CURLM *, CURL *);
  CURLMcode (*multi_setopt)(CURLM *, CURLMoption, ...);
  CURLMcode (*multi_socket_action)(CURLM *, curl_socket_t, int, int *);
  CURLMsg *(*multi_info_read)(CURLM *, int *);
  struct curl_slist *(*slist_append)(struct curl_slist *, const char *);
  void (*slist_free_all)(struct curl_slist *);
  curl_version_info_data *(*version_info)(CURLversion);
} curl;

static char trouble[256];

static int find(void *library, void *place, const char *name) {
  void *symbol = dlsym(library, name);
  memcpy(place, &symbol, sizeof symbol);
  return symbol != NULL;
}

static void complain(const char *what) { strncpy(trouble, what, sizeof trouble - 1); }

static void load(void) {
  void *library = dlopen("libcurl.so.4", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    complain("libcurl is not installed; cure: apt install libcurl4");
    return;
  }
#define FIND(name) find(library, &curl.name, "curl_" #name)
  int is_whole = FIND(global_init) && FIND(easy_init) && FIND(easy_cleanup) && FIND(easy_setopt) && FIND(easy_getinfo) &&
                 FIND(easy_strerror) && FIND(multi_init) && FIND(multi_cleanup) && FIND(multi_add_handle) &&
                 FIND(multi_remove_handle) && FIND(multi_setopt) && FIND(multi_socket_action) && FIND(multi_info_read) &&
                 FIND(slist_append) && FIND(slist_free_all) && FIND(version_info);
#undef FIND
  if (!is_whole || curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
    complain("libcurl cannot be used: it lacks what every libcurl has");
    return;
  }
  const curl_version_info_data *version = curl.version_info(CURLVERSION_NOW);
  // 7.85.0 brought CURLOPT_PROTOCOLS_STR.
  if (version->version_num < 0x075500) complain("libcurl is older than 7.85; cure: install a newer one");
  // Others check a pin only where they check the certificate too.
  else if (version->ssl_version == NULL || strncmp(version->ssl_version, "OpenSSL/", 8) != 0)
    complain("libcurl is not the OpenSSL one; cure: apt install libcurl4");
}

const char *ccurl_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return trouble[0] == 0 ? NULL : trouble;
}

struct ccurl_transfer {
  CURL *easy;
  CURLM *multi;
  struct curl_slist *addresses, *headers;
  ccurl_watch watch;
  ccurl_pace pace;
  void *context;
  char *link;
  uint32_t mark;
  unsigned char *body;
  size_t limit, length;
  long status;
  const char *refused;
  int error;
  char reason[CURL_ERROR_SIZE];
};

// --- what libcurl calls ------------------------------------------------------------------------------------------

/// Before a socket is bound or connected. CURLOPT_INTERFACE is no substitute: it passes over a refusal, and the
/// request would leave by any link.
static int configure(void *context, curl_socket_t socket, curlsocktype purpose) {
  ccurl_transfer *transfer = context;
  (void)purpose;
  if (transfer->link != NULL && setsockopt(socket, SOL_SOCKET, SO_BINDTODEVICE, transfer->link, (socklen_t)strlen(transfer->link) + 1) < 0) {
    transfer->refused = "bind to the link";
  } else if (transfer->mark != 0 && setsockopt(socket, SOL_SOCKET, SO_MARK, &transfer->mark, sizeof transfer->mark) < 0) {
    transfer->refused = "set the firewall mark";
  } else {
    return CURL_SOCKOPT_OK;
  }
  transfer->error = errno;
  return CURL_SOCKOPT_ERROR;
}

/// Internet sockets alone.
static curl_socket_t open_socket(void *context, curlsocktype purpose, struct curl_sockaddr *address) {
  (void)context;
  if (purpose != CURLSOCKTYPE_IPCXN || (address->family != AF_INET && address->family != AF_INET6)) return CURL_SOCKET_BAD;
  return socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// The end of the headers is the end of all where no body is wanted. 1xx answers come before the answer.
static size_t take_header(char *line, size_t size, size_t count, void *context) {
  ccurl_transfer *transfer = context;
  size_t length = size * count;
  int is_end = length <= 2 && (line[0] == '\r' || line[0] == '\n');
  if (!is_end) return length;
  long status = 0;
  curl.easy_getinfo(transfer->easy, CURLINFO_RESPONSE_CODE, &status);
  if (status < 200) return length;
  transfer->status = status;
  return transfer->limit == 0 ? 0 : length;
}

static size_t take_body(char *bytes, size_t size, size_t count, void *context) {
  ccurl_transfer *transfer = context;
  size_t length = size * count, room = transfer->limit - transfer->length;
  size_t taken = length < room ? length : room;
  memcpy(transfer->body + transfer->length, bytes, taken);
  transfer->length += taken;
  // One byte less than there were ends it.
  return length < room ? length : 0;
}

static int watch(CURL *easy, curl_socket_t socket, int what, void *context, void *unused) {
  ccurl_transfer *transfer = context;
  (void)easy, (void)unused;
  if (transfer->watch != NULL)
    transfer->watch(transfer->context, socket, what == CURL_POLL_IN || what == CURL_POLL_INOUT, what == CURL_POLL_OUT || what == CURL_POLL_INOUT);
  return 0;
}

static int pace(CURLM *multi, long milliseconds, void *context) {
  ccurl_transfer *transfer = context;
  (void)multi;
  if (transfer->pace != NULL) transfer->pace(transfer->context, milliseconds);
  return 0;
}

// --- a transfer --------------------------------------------------------------------------------------------------

static int set_up(ccurl_transfer *transfer, const struct ccurl_request *request) {
  CURL *easy = transfer->easy;
  int failures = 0;
#define SET(option, value) failures += curl.easy_setopt(easy, option, value) != CURLE_OK
  SET(CURLOPT_ERRORBUFFER, transfer->reason);
  SET(CURLOPT_URL, request->url);
  SET(CURLOPT_PROTOCOLS_STR, "http,https");
  SET(CURLOPT_HTTPGET, 1L);
  SET(CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  SET(CURLOPT_FOLLOWLOCATION, 0L);
  SET(CURLOPT_NOSIGNAL, 1L);
  // An empty name is no proxy, whatever the environment says.
  SET(CURLOPT_PROXY, "");
  SET(CURLOPT_NETRC, (long)CURL_NETRC_IGNORED);
  SET(CURLOPT_FRESH_CONNECT, 1L);
  SET(CURLOPT_FORBID_REUSE, 1L);
  SET(CURLOPT_SSL_SESSIONID_CACHE, 0L);
  SET(CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
  if (request->pins != NULL) {
    SET(CURLOPT_PINNEDPUBLICKEY, request->pins);
    SET(CURLOPT_SSL_VERIFYPEER, 0L);
    SET(CURLOPT_SSL_VERIFYHOST, 0L);
  }
  if (request->addresses != NULL) {
    transfer->addresses = curl.slist_append(NULL, request->addresses);
    failures += transfer->addresses == NULL;
    SET(CURLOPT_RESOLVE, transfer->addresses);
  }
  if (request->header != NULL) {
    transfer->headers = curl.slist_append(NULL, request->header);
    failures += transfer->headers == NULL;
    SET(CURLOPT_HTTPHEADER, transfer->headers);
  }
  SET(CURLOPT_SOCKOPTFUNCTION, configure);
  SET(CURLOPT_SOCKOPTDATA, transfer);
  SET(CURLOPT_OPENSOCKETFUNCTION, open_socket);
  SET(CURLOPT_HEADERFUNCTION, take_header);
  SET(CURLOPT_HEADERDATA, transfer);
  SET(CURLOPT_WRITEFUNCTION, take_body);
  SET(CURLOPT_WRITEDATA, transfer);
#undef SET
#define SET(option, value) failures += curl.multi_setopt(transfer->multi, option, value) != CURLM_OK
  SET(CURLMOPT_SOCKETFUNCTION, watch);
  SET(CURLMOPT_SOCKETDATA, transfer);
  SET(CURLMOPT_TIMERFUNCTION, pace);
  SET(CURLMOPT_TIMERDATA, transfer);
#undef SET
  return failures == 0;
}

ccurl_transfer *ccurl_open(const struct ccurl_request *request, ccurl_watch watch, ccurl_pace pace, void *context) {
  ccurl_transfer *transfer = calloc(1, sizeof *transfer);
  if (transfer == NULL) return NULL;
  transfer->watch = watch;
  transfer->pace = pace;
  transfer->context = context;
  transfer->mark = request->mark;
  transfer->limit = request->body_limit;
  transfer->body = malloc(request->body_limit + 1);
  transfer->link = request->link == NULL ? NULL : strdup(request->link);
  transfer->easy = curl.easy_init();
  // One of its own for each: no connection, look-up or TLS session of one network is there on the next.
  transfer->multi = curl.multi_init();
  int is_whole = transfer->body != NULL && (transfer->link != NULL || request->link == NULL) && transfer->easy != NULL && transfer->multi != NULL;
  if (is_whole && set_up(transfer, request) && curl.multi_add_handle(transfer->multi, transfer->easy) == CURLM_OK) return transfer;
  ccurl_close(transfer);
  return NULL;
}

static int is_impostor(CURLcode code) {
  switch (code) {
  case CURLE_PEER_FAILED_VERIFICATION:
  case CURLE_SSL_PINNEDPUBKEYNOTMATCH:
  case CURLE_SSL_ISSUER_ERROR:
  case CURLE_SSL_INVALIDCERTSTATUS: return 1;
  default: return 0;
  }
}

int ccurl_process(ccurl_transfer *transfer, int socket, int readable, int writable, int broken, struct ccurl_outcome *outcome) {
  int events = (readable ? CURL_CSELECT_IN : 0) | (writable ? CURL_CSELECT_OUT : 0) | (broken ? CURL_CSELECT_ERR : 0), running = 0, left = 0;
  curl.multi_socket_action(transfer->multi, socket < 0 ? CURL_SOCKET_TIMEOUT : socket, events, &running);
  const CURLMsg *message = curl.multi_info_read(transfer->multi, &left);
  if (message == NULL || message->msg != CURLMSG_DONE) return 0;
  CURLcode code = message->data.result;
  memset(outcome, 0, sizeof *outcome);
  outcome->status = transfer->status;
  outcome->body = transfer->body;
  outcome->length = transfer->length;
  // Once the headers are there, what follows may end as it likes: it is we who end it, mostly.
  if (transfer->status == 0) {
    outcome->reason = transfer->reason[0] != 0 ? transfer->reason : curl.easy_strerror(code);
    outcome->is_impostor = is_impostor(code);
    outcome->refused = transfer->refused;
    outcome->error = transfer->error;
  } else {
    outcome->reason = "";
  }
  return 1;
}

void ccurl_close(ccurl_transfer *transfer) {
  if (transfer == NULL) return;
  transfer->watch = NULL;
  transfer->pace = NULL;
  if (transfer->multi != NULL && transfer->easy != NULL) curl.multi_remove_handle(transfer->multi, transfer->easy);
  if (transfer->easy != NULL) curl.easy_cleanup(transfer->easy);
  if (transfer->multi != NULL) curl.multi_cleanup(transfer->multi);
  if (transfer->addresses != NULL) curl.slist_free_all(transfer->addresses);
  if (transfer->headers != NULL) curl.slist_free_all(transfer->headers);
  free(transfer->body);
  free(transfer->link);
  free(transfer);
}
