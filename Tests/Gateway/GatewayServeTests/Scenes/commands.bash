#!/usr/bin/env bash
# Commands that no other scene needs, with their entries in the audit log. No gateway runs.
# shellcheck source=Tests/Gateway/GatewayServeTests/Scenes/scene.bash
source "$(dirname "${BASH_SOURCE[0]}")/scene.bash"

gateway() { "$ROAMWARD_BIN/roamward-gateway" "$@" --state /run/work/state; }
public() { wg genkey | wg pubkey; }

gateway init --endpoint vpn.example.com --pool 10.77.0.0/24 >/dev/null
gateway user add alice
gateway device add alice/phone --public-key "$(public)" >/dev/null

gateway group add staff
gateway set settings.groups.staff.mtu 1380
gateway group set staff --add alice
[[ $(gateway device show alice/phone) == 'mtu 1380  from group staff' ]] || fail "$(gateway device show alice/phone)"
gateway access add web --from group:staff --to 10.20.0.0/16
gateway explain alice 10.20.0.1:443 | found web || fail "$(gateway explain alice 10.20.0.1:443)"
gateway unset settings.groups.staff
! gateway device show alice/phone | found mtu || fail 'the settings of the group are not cleared'
gateway group set staff --remove alice
gateway access remove web
gateway group remove staff
[[ -z $(gateway group list) ]] || fail "the group is still there: $(gateway group list)"

gateway device set alice/phone --name tablet
gateway device set alice/tablet --public-key "$(public)"
gateway device list | found '^alice/tablet ' || fail "$(gateway device list)"

gateway token create alice >/dev/null
number=$(gateway user list --tokens | sed -n 's/^\([0-9]*\) .*/\1/p')
gateway token revoke "$number"
[[ -z $(gateway user list --tokens) ]] || fail "the token is still there: $(gateway user list --tokens)"

gateway user remove alice
[[ -z $(gateway user list) ]] || fail "the user is still there: $(gateway user list)"

gateway audit --export >export.out
for verb in 'settings clear' 'group remove' 'device rename' 'device rekey' 'token revoke'; do
  grep -q "  $verb " export.out || fail "the audit log has no $verb: $(cat export.out)"
done
