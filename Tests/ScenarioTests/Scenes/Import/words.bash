# Words for imports by an ordinary user: `imports ARGUMENT …`, in a folder of that user's.
# shellcheck shell=bash disable=SC2154,SC2034

cp "$bin/roamward" .
# shellcheck disable=SC2164
mkdir files && cd files
user=()
[[ $EUID != 0 ]] || { user=(setpriv --reuid 65534 --regid 65534 --clear-groups); chown 65534:65534 .; }
imports() { "${user[@]}" ../roamward import "$@"; }
# A file of wg-quick with these lines in [Interface].
file() {
  "$lab" config | sed '/^DNS/d; /^AllowedIPs/d; s|^\[Peer\]|&\nAllowedIPs = '"$2"'|' >"$1"
  { echo '[Interface]'; cat; sed '/^\[Interface\]/d' "$1"; } >new && mv new "$1" && chmod 644 "$1"
}
