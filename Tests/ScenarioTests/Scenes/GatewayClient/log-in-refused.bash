# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/as-installed.bash
source "$tests/as-installed.bash"

# The status and the first line of a login without a terminal, or with a person who types nothing.
log_in() {
  local status=0
  roamward login "$@" </dev/null >said 2>&1 || status=$?
  say "$status $(head -n 1 said)"
}
look() {
  local status=0
  "$tests/typist" "$bin/roamward" login "$@" </dev/null >said 2>&1 || status=$?
  say "$status $(grep -ao 'roamward: .*' said | head -n 1)"
}

company_gateway
go cafe
as_packaged
pages() { on gateway busybox nc -ll -p 8080 -e sh -c 'echo HTTP/1.0 400 Bad; echo' </dev/null >/dev/null 2>&1; }
pages &
within 5 eval 'on gateway ss -Hltn "sport = :8080" | grep -q .'

log_in 203.0.113.10:51821 | sed 's/ (.*)//; s/[^ ]*agent.socket/SOCKET/'
start_agent
# Who has no right is refused, with the cure.
setpriv --reuid 65534 --regid 65534 --clear-groups "$bin/roamward" login 203.0.113.10:51821 --pin "$pin" </dev/null >said 2>&1 || say "$?"
head -n 1 said
# Without a terminal no pin is confirmed.
log_in 203.0.113.10:51821
# The cause is named.
look nosuch.corp.example
look 203.0.113.10:51999
look 203.0.113.10:8080
say "$(find local -type f | wc -l) files"

# A pin that the gateway does not have.
other=sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=
log_in alice@203.0.113.10:51821 --pin "$other" --name office
grep -o 'has another key, .*' said | sed "s|$pin|PIN|; s|: .*||"
grep -o 'the policy .* stays' said
# The right one replaces it in that file, and in no other one. The question stays open.
log_in 203.0.113.10:51821 --pin "$pin" | sed "s|$pin|PIN|"
grep -o 'the question stays open' said
say "$(grep -c "$pin" local/office.yaml) pin, $(find local -name '*.yaml' | wc -l) files, $(field office 'questions[0].kind')"

# Ctrl-C leaves the terminal and the policy as they were.
printf '%s\t%s\n' '(not shown): ' '^C' |
  "$tests/typist" bash -c 'trap : INT; "$0" login 203.0.113.10:51821; echo "end $?, $(stty -a | grep -o " -*echo ")"' "$bin/roamward" >typed
grep -oE 'office: interrupted|end 130, .*' typed
field office 'questions[0].kind'

# At a terminal, another pin in a link is asked about.
link='roamward://203.0.113.10:51821/?pin=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU'
printf '%s\t%s\n' '[yes/no]' no | "$tests/typist" "$bin/roamward" login "$link" >typed || say "$?, $(grep -c "$pin" local/office.yaml) pin"

# Answers may come from standard input.
roamward login 203.0.113.10:51821 <<<'correct horse' 2>/dev/null | grep -o 'office: connected'
within 5 office_answers
stop_agent
