# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/as-installed.bash
source "$tests/as-installed.bash"

mkdir home
"$lab" config >home/work.conf
go cafe
# As the unit has it.
umask 077
start_agent
import() { roamward import home/work.conf --apply --except here "${inputs[@]}" "$@" >/dev/null; }
import
within 1 field_is work decision disconnect
export TMPDIR=$scene
EDITOR='sed -i s/disconnect/ignore/' roamward edit work
within 1 field_is work decision ignore
EDITOR='sed -i s/work.conf/none.conf/' roamward edit work </dev/null 2>&1 | sed -n 1p || true
EDITOR='sed -i s/ignore/disconnect/' roamward edit work
roamward untrust "${inputs[@]}" | grep work:
tunnel_is work connected
roamward trust "${inputs[@]}" | grep work:
import --force
# A file alone, on trial: what it names is in force already, also for an agent that starts meanwhile.
sed s/disconnect/ignore/ /etc/roamward/policies/work.yaml >home/work.yaml
mkdir alone && mv home/work.yaml alone/
roamward apply alone/work.yaml --confirm-within 10m
within 1 field_is work decision ignore
kill_agent
start_agent
within 1 field_is work decision ignore
roamward diff --policies policies --policies local "${inputs[@]}" --state-dir state || say "diff $?"
roamward confirm
roamward apply alone/work.yaml
# Those of packages: the changed copy is in another folder.
EDITOR='sed -i s/ignore/disconnect/' roamward edit pack
within 1 field_is pack decision disconnect
roamward trust office "${inputs[@]}" | cut -d ' ' -f 1-7
roamward list | cut -d ' ' -f 1
stat -c '%a %n' local/*
stop_agent
