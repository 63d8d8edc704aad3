# shellcheck shell=bash disable=SC2154
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/run.bash
source "$tests/run.bash"

# The sessions that systemd-logind writes; the program that reads them is the real one.
mkdir -p /run/systemd/sessions
mount -t tmpfs none /run/systemd/sessions
log_in() {
  cat >/run/systemd/sessions/.new <<END
UID=65534
USER=nobody
ACTIVE=1
STATE=${2:-active}
REMOTE=0
TYPE=tty
CLASS=${3:-user}
END
  mv /run/systemd/sessions/.new "/run/systemd/sessions/$1"
}
as_member
as() { setpriv --reuid "$1" --regid 65534 --groups 4711 "$scene/roamward" "${@:2}"; }
sees() { as "$1" status --json | jq -r '[.tunnels[].name] | join(" ")'; }

go cafe
log_in 1 active greeter
start_agent
within 5 field_is corp code owner-away
say "$(field corp state)"
field corp reason
roamward up corp 2>&1 || say $?
say "owner: $(sees 65534), another: $(sees 65533), root: $(field corp name)"
as 65533 monitor --json >"$scene/monitor" &
monitors=$!
as 65534 monitor --json >"$scene/own" &
monitors+=" $!"
# It shows its first step at once, and began after the others.
as 65533 monitor --record "$scene/spoken/record" >/dev/null &
monitors+=" $!"
within 5 test -s "$scene/spoken/record"
log_in 2
tunnel_is corp connected
say "owner: $(sees 65534), another: $(sees 65533)"
as 65533 up corp 2>&1 || say $?
as 65533 metrics | grep -c corp || true
grep -c corp "$scene/monitor" || true
within 5 grep -q '"tunnel":"corp","from":"connecting","to":"connected"' "$scene/own"
# A session that closes is none, and neither is the one of a login screen.
log_in 2 closing
tunnel_is corp disconnected
say "$(field corp code)"
log_in 3
tunnel_is corp connected
rm /run/systemd/sessions/3
tunnel_is corp disconnected
say "$(field corp code)"
go mobile
within 5 grep -q '"event":"network"' "$scene/monitor"
grep -c corp "$scene/monitor" "$scene/spoken/record" | sed 's/.*://' || true
# shellcheck disable=SC2086 # a list of numbers
kill $monitors
