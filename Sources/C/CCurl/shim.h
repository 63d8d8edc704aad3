// curl_easy_setopt(3) and similar functions are variadic, which Swift cannot import: one function for each type of value.
#define CURL_DISABLE_TYPECHECK
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>

static inline CURLcode roamward_curl_set_number(CURL *easy, CURLoption option, long value) { return curl_easy_setopt(easy, option, value); }

static inline CURLcode roamward_curl_set_text(CURL *easy, CURLoption option, const char *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode roamward_curl_set_pointer(CURL *easy, CURLoption option, void *value) {
  return curl_easy_setopt(easy, option, value);
}

static inline CURLcode roamward_curl_set_list(CURL *easy, CURLoption option, struct curl_slist *value) {
  return curl_easy_setopt(easy, option, value);
}

/// CURLOPT_CAINFO_BLOB; the bytes have to stay valid.
static inline CURLcode roamward_curl_set_authorities(CURL *easy, const void *bytes, size_t count) {
  struct curl_blob blob = {.data = (void *)bytes, .len = count, .flags = CURL_BLOB_NOCOPY};
  return curl_easy_setopt(easy, CURLOPT_CAINFO_BLOB, &blob);
}

/// CURLOPT_COPYPOSTFIELDS: the text is copied, and the request becomes a POST.
static inline CURLcode roamward_curl_set_form(CURL *easy, const char *form) { return curl_easy_setopt(easy, CURLOPT_COPYPOSTFIELDS, form); }

/// CURLOPT_OPENSOCKETFUNCTION, CURLOPT_HEADERFUNCTION or CURLOPT_WRITEFUNCTION, each with its context.
static inline CURLcode roamward_curl_on_socket(CURL *easy, curl_opensocket_callback callback, void *context) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_OPENSOCKETFUNCTION, callback);
  return result != CURLE_OK ? result : curl_easy_setopt(easy, CURLOPT_OPENSOCKETDATA, context);
}

static inline CURLcode roamward_curl_on_header(CURL *easy, curl_write_callback callback, void *context) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, callback);
  return result != CURLE_OK ? result : curl_easy_setopt(easy, CURLOPT_HEADERDATA, context);
}

static inline CURLcode roamward_curl_on_body(CURL *easy, curl_write_callback callback, void *context) {
  CURLcode result = curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, callback);
  return result != CURLE_OK ? result : curl_easy_setopt(easy, CURLOPT_WRITEDATA, context);
}

static inline CURLMcode roamward_curl_on_watch(CURLM *multi, curl_socket_callback callback, void *context) {
  CURLMcode result = curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, callback);
  return result != CURLM_OK ? result : curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, context);
}

static inline CURLMcode roamward_curl_on_pace(CURLM *multi, curl_multi_timer_callback callback, void *context) {
  CURLMcode result = curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, callback);
  return result != CURLM_OK ? result : curl_multi_setopt(multi, CURLMOPT_TIMERDATA, context);
}

/// CURLINFO_RESPONSE_CODE.
static inline long roamward_curl_status(CURL *easy) {
  long status = 0;
  return curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status) == CURLE_OK ? status : 0;
}

/// CURLINFO_CAINFO: libcurl's default file of trusted authorities; NULL: none.
static inline const char *roamward_curl_authorities(CURL *easy) {
  const char *path = NULL;
  return curl_easy_getinfo(easy, CURLINFO_CAINFO, &path) == CURLE_OK ? path : NULL;
}

/// The address in network order, 4 or 16 bytes into `bytes`. Returns their count, 0 for any other family.
static inline int roamward_curl_address(const struct curl_sockaddr *address, unsigned char bytes[16], unsigned short *port) {
  if (address->family == AF_INET) {
    const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->addr;
    memcpy(bytes, &v4->sin_addr, 4);
    *port = ntohs(v4->sin_port);
    return 4;
  }
  if (address->family == AF_INET6) {
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->addr;
    memcpy(bytes, &v6->sin6_addr, 16);
    *port = ntohs(v6->sin6_port);
    return 16;
  }
  return 0;
}

/// The TLS library, such as `OpenSSL/3.0.15`; NULL: none.
static inline const char *roamward_curl_tls(void) { return curl_version_info(CURLVERSION_NOW)->ssl_version; }
