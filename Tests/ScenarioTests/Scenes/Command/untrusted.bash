# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

touch answer
chmod 777 vpn
roamward check policies 2>&1 | grep -c 'would refuse .*/vpn: it can be written by everyone'
go cafe
start_agent
within 5 eval 'roamward status | found "vpn cannot be used: it can be written by everyone"'
[[ ! -s calls ]] && say 'not run'
chmod 755 vpn
cp policies/vpn.yaml again && mv again policies/vpn.yaml
within 5 eval 'roamward status | found "^vpn: "'
tunnel_is vpn connected
stop_agent
mv vpn aside
roamward check policies 2>&1 | grep -o 'there is no program' | sort -u
mv aside vpn
chmod 644 vpn
roamward check policies 2>&1 | grep -o 'is not executable' | sort -u
