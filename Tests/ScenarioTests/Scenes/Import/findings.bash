# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/Import/words.bash
source "$tests/Import/words.bash"

file docker0.conf 10.77.0.0/16 </dev/null
file relay.conf '0.0.0.0/0, ::/0' </dev/null
sed -i 's/^Endpoint.*/Endpoint = 127.0.0.1:51899/' relay.conf
file hub.conf 10.79.0.0/24 <<<'DNS = 198.51.100.53'
mkdir out "Meine Firma – Zürich (2)" "it's" && [[ $EUID != 0 ]] || chown 65534:65534 out M* it*
for name in docker0 relay hub; do imports $name.conf --output "Meine Firma – Zürich (2)" --manual --dry-run | grep 'note: warning' | sed "s|$PWD|.|"; done
imports hub.conf --output out --except-ssid Home 2>/dev/null | grep -c 'note: warning: .*ssid'
imports hub.conf --output out --dry-run --json | jq -r '.imports[0].report.keys[] | select(.weight == "warning") | .text'
# The command is typed as it is printed, with a program in the place of sudo that shows its arguments.
for folder in "Meine Firma – Zürich (2)" "it's"; do
  imports hub.conf --output "$folder" --manual >report
  command=$(sed -n 's/^next: sudo //p' report | sed 's/ *#.*//')
  roamward() { printf '<%s>' "$@"; echo; }
  eval "$command" | sed "s|$PWD|.|"
done
