import Testing

/// Keys in the memory of the agent and of its engine: one copy each, locked; none after the tunnel is gone. The memory is searched from
/// outside, by root.
@Suite("Keys in memory", .needsLab)
struct KeyMemoryTests {
  /// `count N LABEL [PID]`: within a while the agent, or another process, has so many copies of each key, all of
  /// them locked, and no text of any.
  private let words = """
    (umask 077; wg genpsk >psk)
    sed -i "/^\\[Peer\\]/a PresharedKey = $(<psk)" $policies/corp.conf
    on gateway wg set gw0 peer "$(wg pubkey <$laptop/key)" preshared-key psk
    # What is being read at this moment is there twice; a few moments later it is not.
    count() {
      local key attempt copies numbers="$1 locked, 0 unlocked"
      [[ -z ${unlocked:-} ]] || numbers="0 locked, $1 unlocked"
      for key in $laptop/key psk; do
        for attempt in {1..10}; do
          copies=$(perl "$tests/find-key" "${3:-$(agent_pid)}" <$key 2>copies.log)
          [[ $copies == "raw $numbers; base64 0; hexadecimal 0" ]] && break
          ((attempt < 10)) || { say "$2: $key: $copies"; cat copies.log; return 1; }
          sleep 0.2
        done
      done
      say "$2: $1"
    }

    """

  @Test("the agent has each key once, in locked memory, and none after its tunnel is gone; no text of a key stays anywhere")
  func oneCopy() throws {
    let scene = try Scene()
    let seen = try scene.run(
      words + """
        go cafe
        start_agent
        tunnel_is corp connected
        count 1 'connected'
        [[ $(roamward status --json | jq -r '.tunnels[0].engine') == kernel ]] ||
          count 1 'in the engine' "$(pgrep -f '^roamward-wireguard --at-work corp')" >engine.log || cat engine.log
        [[ $(grep VmLck /proc/$(agent_pid)/status | tr -dc 0-9) -gt 0 ]] && say locked
        # The device is read back, reports are made, the machine moves to another network and back.
        roamward status >/dev/null
        go home
        tunnel_is corp disconnected
        go cafe
        tunnel_is corp connected
        count 1 'moved'
        # The same key read again from the file, and from the last good copy of a broken one.
        touch $policies/corp.conf
        echo 'nonsense: [' >>$policies/corp.yaml
        within 5 eval '[[ $(roamward status --json | jq -r ".policy.standIns | length") == 1 ]]'
        count 1 'last known good'
        kill_agent
        start_agent
        tunnel_is corp connected
        count 1 'read from the state folder'
        sed -i '$d' $policies/corp.yaml
        within 5 eval '[[ $(roamward status --json | jq -r ".policy.standIns | length") == 0 ]]'
        # A set that comes over the local socket.
        mkdir new && cp -p $policies/* new/
        roamward apply --confirm-within 60s new >/dev/null
        tunnel_is corp connected
        count 1 'on trial'
        roamward revert >/dev/null
        tunnel_is corp connected
        rm $policies/corp.yaml
        within 5 field_is corp name ''
        within 5 not ip link show corp
        count 0 'removed'
        """, limit: 180)
    #expect(
      seen.lines == [
        "[connected: 1]", "[locked]", "[moved: 1]", "[last known good: 1]", "[read from the state folder: 1]", "[on trial: 1]",
        "[removed: 0]",
      ], "\(seen)")
  }

  @Test("where no memory may be locked the agent has each key once all the same, and none after its tunnel is gone")
  func withoutLocking() throws {
    let scene = try Scene()
    let seen = try scene.run(
      words + """
        mkdir poor
        printf '#!/bin/sh\\nulimit -l 0\\nexec setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock "%s/roamwardd" "$@"\\n' "$bin" >poor/roamwardd
        chmod +x poor/roamwardd; ln -s "$bin/roamward" poor/roamward
        go cafe
        bin=$scene/poor start_agent
        tunnel_is corp connected
        say "$(grep VmLck /proc/$(agent_pid)/status | tr -d '\\t ')"
        unlocked=yes count 1 'connected'
        rm $policies/corp.yaml
        within 5 not ip link show corp
        count 0 'removed'
        """, limit: 90)
    #expect(seen.lines == ["[VmLck:0kB]", "[connected: 1]", "[removed: 0]"], "\(seen)")
  }

  @Test("a thousand preshared keys take 64 KiB of locked memory at most, which is all that some systems allow") func manyKeys() throws {
    let scene = try Scene(["corp.yaml": corp])
    let seen = try scene.run(
      words + """
        # 43 digits of base64, the last of which holds four bits.
        tr -dc 'A-Za-z0-9' </dev/urandom | head -c 84000 | fold -w 42 | sed 's/$/A=/' >keys || true
        mapfile -t keys <keys
        for ((i = 0; i < 1000; i++)); do
          printf '[Peer]\\nPublicKey = %s\\nPresharedKey = %s\\n' "${keys[i]}" "${keys[i + 1000]}"
        done >>$policies/corp.conf
        go home
        start_agent
        within 5 field_is corp decision disconnect
        within 5 eval '(( $(grep VmLck /proc/$(agent_pid)/status | tr -dc 0-9) <= 64 ))'
        count 1 'among a thousand'
        """, limit: 90)
    #expect(seen.lines == ["[among a thousand: 1]"], "\(seen)")
  }
}
