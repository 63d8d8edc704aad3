// libnftables, loaded when it is first needed: an agent runs without it while no policy and no table concerns the firewall.
#ifndef CNFTABLES_H
#define CNFTABLES_H

struct nft_ctx;

/// A new context, whose output and errors are kept for `cnft_output` and `cnft_error`; listings are numeric and without counters. Loads the
/// library at the first call. It stays loaded. NULL: it is missing, or has no memory; then `*reason` says so (valid until the next call).
/// One thread at a time.
struct nft_ctx *cnft_new(const char **reason);
void cnft_free(struct nft_ctx *context);

/// Runs commands of nft(8). 0: they have succeeded.
int cnft_run(struct nft_ctx *context, const char *commands);

/// The output of the last commands. Reading it also empties it. May be NULL.
const char *cnft_output(struct nft_ctx *context);
const char *cnft_error(struct nft_ctx *context);

/// Gives back the memory that long commands have used.
void cnft_give_back(void);

#endif
