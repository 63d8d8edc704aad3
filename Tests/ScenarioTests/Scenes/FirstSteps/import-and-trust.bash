# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

mkdir home && cd home
"$lab" config >work.conf && chmod 644 work.conf
go cafe
roamward import work.conf --except here "${inputs[@]}" >report
grep -E '^(work |next)' report
say "$(stat -c '%a' work.conf) $(ls | tr '\n' ' ')"
roamward check --strict . | tail -n 1
roamward import work.conf "${inputs[@]}" >/dev/null 2>&1 || say "again $?"
start_agent
# The agent's facts come first: its SSID is not the machine's own here.
roamward import work.conf --name other --dry-run --except here | grep '^other here'
# A person answers at a terminal: trusted, and not put into force yet.
printf 'what\ny\nn\ny\n' >answers
asked() { script --quiet --return --command "$bin/roamward import work.conf --name asked" /dev/null | tr -d '\r'; }
asked >../said <answers
grep -c '^This machine is on wifi wlan0, ssid "Cafe": ssid "Cafe", gateway-mac ' ../said
# A person agrees to what was shown.
grep -oE '(taken .interface..PrivateKey|Put it into force now)' ../said | uniq | tr '\n' ' ' && echo
grep -oE '(Do you trust this network|Please answer y or n|Put it into force now)' ../said | uniq | tr '\n' ' '
grep -E '^asked |^next' ../said
rm asked.yaml
roamward import /dev/null 2>&1 | tail -n 2 || true
roamward apply trusted-networks.yaml work.yaml
change=(--policies "$scene/local" "${inputs[@]}")
within 1 field_is work decision disconnect
roamward untrust "${change[@]}" | grep work:
tunnel_is work connected
roamward untrust "${change[@]}" 2>&1 || say "untrust $?"
roamward trust "${change[@]}" | grep work:
tunnel_is work disconnected
roamward trust "${change[@]}" | cut -d ' ' -f 1-7
export TMPDIR=$scene
EDITOR='sed -i s/connect/conect/' roamward edit work --policies "$scene/local" </dev/null >/dev/null 2>&1 || say "edit $?"
EDITOR=true roamward edit work --policies "$scene/local" | grep -o 'not changed'
EDITOR='sed -i s/disconnect/ignore/' roamward edit work --policies "$scene/local" | grep -o active
within 1 field_is work decision ignore
roamward cat work --policies "$scene/local" | grep -c 'action: ignore'
roamward list --policies "$scene/local" | sed "s|$scene/||"
