# shellcheck shell=bash
# shellcheck source=Tests/ScenarioTests/Scenes/scene.bash
source "$tests/scene.bash"

go cafe
start_agent
tunnel_is corp connected
way_is 10.77.0.1 corp && say "routed"
echo '10.78.0.0/16 # the laboratory' >>"$policies"/corp.prefixes && within 1 way_is 10.78.0.1 corp && say "one more"
echo 10.79.0.0/33 >"$policies"/corp.prefixes && within 1 eval 'roamward status | found corp.prefixes:1:1'
way_is 10.77.0.1 corp && way_is 10.78.0.1 corp && say "a wrong line changes nothing"
echo 10.77.0.0/16 >"$policies"/corp.prefixes && within 1 not way_is 10.78.0.1 corp && way_is 10.77.0.1 corp && say "one less"
# A list that is too long for a request, by a little and by much: the agent says what to do, and goes on.
mkdir "$scene/long"
cp "$policies"/* "$scene/long"
for lines in 60000 300000; do
  perl -e 'print "10.80.0.0/16\n" x shift' "$lines" >"$scene/long/corp.prefixes"
  not roamward apply "$scene/long" 2>"$scene/refusal"
  found 'the request exceeds 524288 bytes; put long files into the folder of policies yourself' "$scene/refusal" && say "$lines are too long"
done
way_is 10.77.0.1 corp && say "as before"
