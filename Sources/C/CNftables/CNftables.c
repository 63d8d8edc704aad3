#include "CNftables.h"

#include <malloc.h>
#include <dlfcn.h>
#include <nftables/libnftables.h>
#include <stdbool.h>
#include <stddef.h>

static struct {
  __typeof__(&nft_ctx_new) create;
  __typeof__(&nft_ctx_free) free;
  __typeof__(&nft_ctx_output_set_flags) set_flags;
  __typeof__(&nft_ctx_buffer_output) buffer_output;
  __typeof__(&nft_ctx_buffer_error) buffer_error;
  __typeof__(&nft_ctx_get_output_buffer) output;
  __typeof__(&nft_ctx_get_error_buffer) error;
  __typeof__(&nft_run_cmd_from_buffer) run;
} nft;

// POSIX lets a pointer to data hold a function (dlsym(3)).
static bool find(void *library, const char *name, void *place) { return (*(void **)place = dlsym(library, name)) != NULL; }

static bool load(void) {
  static bool is_loaded;
  if (is_loaded) return true;
  // The name with the version of its binary interface: what a linked program asks for.
  void *library = dlopen("libnftables.so.1", RTLD_NOW | RTLD_LOCAL);
  is_loaded = library && find(library, "nft_ctx_new", &nft.create) && find(library, "nft_ctx_free", &nft.free) &&
              find(library, "nft_ctx_output_set_flags", &nft.set_flags) && find(library, "nft_ctx_buffer_output", &nft.buffer_output) &&
              find(library, "nft_ctx_buffer_error", &nft.buffer_error) && find(library, "nft_ctx_get_output_buffer", &nft.output) &&
              find(library, "nft_ctx_get_error_buffer", &nft.error) && find(library, "nft_run_cmd_from_buffer", &nft.run);
  return is_loaded;
}

struct nft_ctx *cnft_new(const char **reason) {
  if (!load()) {
    *reason = dlerror();
    return NULL;
  }
  struct nft_ctx *context = nft.create(NFT_CTX_DEFAULT);
  if (!context) {
    *reason = "libnftables cannot be started";
    return NULL;
  }
  nft.buffer_output(context);
  nft.buffer_error(context);
  // Without counters, which change by themselves.
  nft.set_flags(context, NFT_CTX_OUTPUT_STATELESS | NFT_CTX_OUTPUT_NUMERIC_ALL);
  return context;
}

void cnft_free(struct nft_ctx *context) { nft.free(context); }

int cnft_run(struct nft_ctx *context, const char *commands) { return nft.run(context, commands); }

const char *cnft_output(struct nft_ctx *context) { return nft.output(context); }

const char *cnft_error(struct nft_ctx *context) { return nft.error(context); }

void cnft_give_back(void) { malloc_trim(0); }
