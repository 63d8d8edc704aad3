# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/as-installed.bash
source "$tests/as-installed.bash"
# shellcheck source=Tests/ScenarioTests/Scenes/OrdinaryUser/as-user.bash
source "$tests/OrdinaryUser/as-user.bash"

shipped=${lab%/examples/walk/lab}/policies
cp "$shipped"/*.yaml "$shipped"/*.conf "$shipped"/*.ssids local/
chmod 644 local/* && chmod 600 local/*.conf
mkdir -m 700 local/keys && echo secret >local/keys/password && chmod 600 local/keys/password
printf 'name: sample\nabout: x\nprogram: /bin/true\nuser: nobody\noptions: { type: object }\n' >local/sample.manifest
cat >local/90-office.yaml <<'END'
version: 1
tunnels:
  office-by-program:
    provider:
      installed: { name: ./sample.manifest, credentials: { password: keys/password } }
    on-demand: { rules: [ { action: ignore } ] }
END
go cafe
note='cannot be looked at as this user: run with sudo'
try check | grep -v '^! .*warning: \|^!   ' | sed "s|$PWD/||g"
grep -c ' 0 errors, ' out
for command in evaluate list 'explain office' plan; do
  # shellcheck disable=SC2086 # several words
  try $command
  say "$command $(grep -c "$note" out) $(grep -c 'error\|denied\|permitted' out)"
done
try dns www.corp.example
# A policy of root's alone may hold what others name.
chmod 600 /etc/roamward/policies/10-trusted-home.yaml
try evaluate
try check | grep -v '^! .*warning: \|^!   '
try list
grep -c '10-trusted-home.yaml *cannot be looked at' out
