# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/providers.bash
source "$tests/providers.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/client.bash
source "$tests/client.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/as-installed.bash
source "$tests/as-installed.bash"

company_gateway vpn.corp.example
go cafe
as_packaged
start_agent

# A dry run, as anybody, shows the file and changes nothing.
roamward login alice@vpn.corp.example:51821 --dry-run >dry 2>&1
say "dry: $(grep -cF "pin: \"$pin\"" dry), $(find local -type f | wc -l) files"

# Another pin is not confirmed, and nothing is written. A word that is neither is asked again.
printf '%s\t%s\n' '[yes/no]' y '[yes/no]' no | "$tests/typist" "$bin/roamward" login alice@vpn.corp.example:51821 >typed || say "no: $?"
say "$(grep -cF "$pin" typed) pin, $(find local -type f | wc -l) files"

# A wrong password is asked for again at the same terminal.
printf '%s\t%s\n' '[yes/no]' yes '(not shown): ' 'wrong horse' '(not shown): ' 'correct horse' |
  "$tests/typist" "$bin/roamward" login alice@vpn.corp.example:51821 >typed
say "$(grep -c 'does not accept the name' typed) refused, $(grep -cE 'horse' typed || true) shown"
grep -oE 'corp: connected|address: .*10[.]95[.]0[.]2|login: .*' typed | sed "s/device $(hostname),/device HOST,/"
within 5 office_answers
find local -type f -printf '%m %f\n' | sort
grep -E 'server|pin|username' local/corp.yaml | sed "s|$pin|PIN|"

# The same again uses what is there, without a question; so does the link.
link=$(company login show --link --user alice)
say "$(sed -E 's/pin=[A-Za-z0-9_-]{43}/pin=PIN/' <<<"$link")"
roamward login "$link" </dev/null >again 2>&1
say "$(grep -c 'as it is' again) as it is, $(grep -c 'corp: connected' again) connected, $(find local -name '*.yaml' | wc -l) files"

# On a network that is trusted it is down.
roamward trust "${inputs[@]}" >/dev/null
within 10 field_is corp state disconnected
roamward login vpn.corp.example:51821 </dev/null | grep -o 'corp: not connected here: .*network"'
roamward untrust "${inputs[@]}" >/dev/null
within 20 field_is corp state connected
stop_agent
