# Words for scenes about split DNS by the plain file: both tunnels are up in the café, and their names answered. Needs names.bash,
# keepers.bash and both-gateways.bash.
# shellcheck shell=bash disable=SC2154,SC2034

answers() { local name; for name in wiki.corp.example box.lab.example www.public.example; do echo "$name=$(answer $name)"; done | xargs; }
all_answered_at() { answers_are wiki.corp.example=10.77.0.77 box.lab.example=10.88.0.77 www.public.example="$1"; }
led() { grep -q 'nameserver 127.82.0.53' "$file"; }
keep_by file
go cafe
cp -a "$file" was
start_agent
both_up
within 5 all_answered_at 198.51.100.77
