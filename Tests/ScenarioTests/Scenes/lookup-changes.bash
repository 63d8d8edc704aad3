# Words for scenes in which everything changes under questions: three tunnels, and the changes. Needs names.bash, capture.bash,
# lookups.bash and lookup-words.bash.
# shellcheck shell=bash disable=SC2154,SC2034

: >"$scene/outages"
second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >"$policies"/site.conf
sed 's/:51821$/:51899/; s/^Address.*/Address = 10.99.0.2/' "$policies"/site.conf >"$policies"/vault.conf
chmod 600 "$policies"/*.conf
on gateway dnsmasq --conf-file=/dev/null --no-resolv --no-hosts --bind-interfaces --listen-address=10.88.0.1 --pid-file= \
  --log-queries --log-facility="$scene/names-site" --local-ttl=300 "--address=/#/10.88.0.77"
within 5 test -e "$scene/names-site"
kinds=(corp.example CORP.EXAMPLE tcp:corp.example lab.example public.corp.example site.example tcp:SITE.EXAMPLE vault.example! tcp:vault.example!
  other.example tcp:OTHER.EXAMPLE)
domains="corp.example lab.example public.corp.example site.example vault.example other.example"
planned() { dry dns "$1" | sed -n 1,2p | xargs; }
server() { pgrep -f "[r]oamward-names --at-work" || true; }
settled() {
  tunnel_is corp connected && tunnel_is site connected &&
    [[ $(answer wiki"$1".corp.example) == 10.77.0.77 && $(answer wiki"$1".site.example) == 10.88.0.77 ]]
}
move() { [[ $place == cafe ]] && place=mobile || place=cafe; go "$place"; }
next_agent() { start_agent; within 10 eval '[[ -n $(server) ]]'; }
kill_engine() { local engine; engine=$(engine_pid "$1"); [[ -z $engine ]] || kill -KILL "$engine"; }
# shellcheck disable=SC2046 # one process or more
change() {
  case $(($1 % 8)) in
    0) move ;;
    1) kill -KILL $(server) ;;
    2) unanswerable; go nothing; sleep 0.5; go "$place"; answerable ;; # no event: the questions of half a second
    3) unanswerable; kill_agent; next_agent; answerable ;;
    4) if (($1 / 8 % 2)); then kill_engine site; else kill_engine corp; fi ;;
    5) roamward up corp --wait 20 >/dev/null; roamward resume corp >/dev/null ;;
    6) unanswerable; kill_agent; move; next_agent; answerable ;;
  esac
}
# At home the rule ends it; in the café a look-up starts it.
change_file() {
  (($1 % 8 == 7)) || { change "$1"; return; }
  stage home
  within 10 all_answered
  go home
  tunnel_is corp disconnected
  sleep 0.5 # no event: the questions of half a second
  go "$place"
  within 20 settled "$1"
  stage changes
  within 10 all_answered
}
# A person takes it down and lets it go; a look-up starts it.
change_capture() {
  (($1 % 8 == 7)) || { change "$1"; return; }
  unanswerable
  roamward down corp --wait 20 >/dev/null
  sleep 0.5 # no event: the questions of half a second
  roamward resume corp >/dev/null
  answerable
}
