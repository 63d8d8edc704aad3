# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/strangers-file.bash
source "$tests/strangers-file.bash"

cp "$bin/roamward" . && cd evil
user=()
[[ $EUID != 0 ]] || { user=(setpriv --reuid 65534 --regid 65534 --clear-groups); chown 65534:65534 .; }
imported=0
for head in *.head; do
  name=${head%.head}
  if ((name % 2)); then cat ../good "$head" >"$name".ovpn; else { cat "$head"; cat ../good; } >"$name".ovpn; fi
done
chmod 644 ./*
# Names of tunnels are unique in a folder: one folder for all, and one command for many files.
printf '%s\n' *.ovpn | xargs -n 100 "${user[@]}" ../roamward import --output out --manual >report 2>&1 || true
mkdir distinct
for file in out/*.ovpn; do
  [[ -e $file ]] || continue
  imported=$((imported + 1))
  cp "$file" "distinct/$(sha256sum <"$file" | cut -c1-16)"
done
((imported > COUNT / 3)) || say "only $imported of $COUNT were imported"
# The contents of a block are no options, whatever they are: the trace tells whether openvpn reads them as such.
options() { awk '/^<.?connection>/ { next } /^<\// { inside = 0; next } /^</ { inside = 1; next } !inside' "$@"; }
if options distinct/* | grep -E 'strangers|secret|script-security'; then say "a path is left"; fi
for file in distinct/*; do
  watched "$file.trace" /usr/sbin/openvpn --cd "$PWD/out" --config "$PWD/$file" --connect-retry-max 1 --server-poll-timeout 1 --dev null
  grep -H -E 'Options error|Unrecognized' "$file.trace.out" || true
  grep -H strangers "$file.trace" | head -n 2 || true
  [[ $(grep -c execve "$file.trace") == 1 ]] || say "$(grep execve "$file.trace")"
done
[[ ! -e $S/ran && ! -e $S/new ]] || say "ran"
# This check sees what a file does that was not imported.
{ cat ../good; echo "plugin $S/evil.so"; } >raw
watched raw.trace /usr/sbin/openvpn --config raw --connect-retry-max 1 --dev null
grep -q strangers/evil.so raw.trace && say "seen"
