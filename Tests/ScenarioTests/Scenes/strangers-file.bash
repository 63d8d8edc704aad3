# Words for scenes with OpenVPN files of a stranger: what they point at, and a good file beside which they stand.
# shellcheck shell=bash disable=SC2154

S=$scene/strangers
mkdir "$S" && chmod 755 "$S"
printf 'first-line-secret\nsecond-line-secret\n' >"$S/secret"
printf '#!/bin/sh\ntouch %s/ran\n' "$S" >"$S/run"
cp "$(ldconfig -p | awk '/libz\.so\.1 / { print $NF; exit }' || true)" "$S/evil.so" 2>/dev/null || cp /bin/true "$S/evil.so"
chmod 755 "$S"/*
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout ca.key -out ca.pem -subj /CN=ca -days 2 2>/dev/null
# What a stranger's own file would have besides.
good() {
  printf 'client\ndev tun\nproto udp\nremote 127.0.0.1 1\nnobind\n'
  for part in ca:ca.pem cert:ca.pem key:ca.key; do printf '<%s>\n%s\n</%s>\n' "${part%%:*}" "$(<"${part#*:}")" "${part%%:*}"; done
}
good >good
# Calls of a run of openvpn that lasts for an attempt or two.
watched() {
  timeout 20 strace -f -qq -o "$1" -e trace=%file,execve,execveat,connect "${@:2}" >"$1.out" 2>&1 </dev/null || true
}
