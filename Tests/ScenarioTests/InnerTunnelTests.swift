import Testing

@Suite("A tunnel through another one", .needsLab)
struct InnerTunnelScenes {
  /// `lab` goes through `corp`. Its gateway is reached outside too: only the policy keeps its packets inside.
  private func scene(_ inner: String = inner) throws -> Scene {
    let scene = try Scene(["50-corp.yaml": outer, "60-lab.yaml": inner], words: ["inner.bash"])
    try scene.run("second_gateway gw1 10.88.0.1/16 51821 10.88.0.2/32 >$policies/lab.conf; chmod 600 $policies/lab.conf")
    try scene.run("sed -i 's|^AllowedIPs = .*|&, 203.0.113.10/32|' $policies/corp.conf; watch_inner")
    return scene
  }

  @Test("starts after it and ends before it; none of its packets leaves outside, whatever happens to the two")
  func life() throws {
    let seen = try scene().run(
      """
      go cafe
      remember
      start_agent
      inner_works() { busybox ping -c 1 -W 1 10.88.0.1 >/dev/null; }
      say "$(field corp state) $(field lab state)"
      # It outlasts every network, and the agent.
      roamward up lab --until resume --wait 20 >/dev/null
      within 5 inner_works && say "$(way_to 10.88.0.1), $(inner_packets) outside"
      roamward status | grep -E '^ *(through|because):' | sed 's/  *(.*//; s/^ *//'
      "$bin/roamward" diff --policies "$policies" "${inputs[@]}" --state-dir "$scene/state" >diff.out && say "no drift" || cat diff.out
      network_link_is() { [[ $(roamward status --json | jq -r .primary.link) == "$1" ]]; }
      for place in mobile:wwan0 home:eth0 cafe:wlan0; do
        go ${place%:*}
        within 5 network_link_is ${place#*:}
        within 20 inner_works
      done
      say "roamed: $(inner_packets)"
      for link in corp lab corp; do
        kill -KILL "$(engine_pid $link)"
        sleep 1
        within 40 inner_works
      done
      say "killed: $(inner_packets)"
      kill -KILL "$(agent_pid)"
      within 5 test -s "$scene/agent.exit"
      busybox ping -c 2 -i 0.2 -W 1 10.88.0.1 >/dev/null || true
      say "without an agent: $(inner_packets)"
      start_agent
      within 20 field_is lab state connected
      within 10 inner_works
      roamward down corp --wait 20 >/dev/null
      say "$(field lab state), $(field lab code): $(inner_packets)"
      roamward resume corp >/dev/null
      within 20 field_is lab state connected
      roamward down lab --wait 20 >/dev/null
      within 10 field_is corp state disconnected
      say "$(stop_agent): $(inner_packets) outside"
      prove_watch
      say "$(inner_packets)"
      as_before
      """)
    #expect(
      seen.lines == [
        "[disconnected disconnected]", "[dev lab, 0 outside]", "because: lab goes through it; rule 1: always",
        "because: manual override", "through: corp, which carries its packets",
        "[no drift]", "[roamed: 0]", "[killed: 0]", "[without an agent: 0]", "[disconnected, outer-down: 0]", "[0: 0 outside]", "[1]",
      ])
  }

  @Test("takes everything with a kill switch: nothing else leaves, and its own packets go through the outer one")
  func full() throws {
    let seen = try scene(inner + "    include-all-networks: true\n").run(
      """
      go cafe
      start_agent
      roamward up lab --wait 20 >/dev/null
      within 5 busybox ping -c 1 -W 1 10.88.0.1 && say "$(way_to 203.0.113.80) $(inner_packets)"
      kill -KILL "$(engine_pid corp)"
      busybox ping -c 1 -W 1 203.0.113.80 >/dev/null || say blocked
      within 40 busybox ping -c 1 -W 1 10.88.0.1 >/dev/null
      say "$(inner_packets)"
      ip link show dev lab | grep -o 'mtu [0-9]*'
      """)
    #expect(seen.lines == ["[dev lab 0]", "[blocked]", "[0]", "mtu 1340"])
  }

  @Test("works as a program too: its sockets go through the outer tunnel from the start, or nowhere", .marksSockets)
  func command() throws {
    let scene = try scene()
    let seen = try scene.run(
      """
      cat >"$scene/say" <<'END'
      #!/bin/bash
      echo hello >/dev/udp/203.0.113.10/51821
      ip tuntap add dev probe mode tun && ip link set probe up
      END
      cat >"$scene/unsay" <<'END'
      #!/bin/bash
      echo goodbye >/dev/udp/203.0.113.10/51821
      ip link delete probe
      END
      chmod 755 "$scene/say" "$scene/unsay"
      cat >"$policies/60-lab.yaml" <<END
      version: 1
      tunnels:
        lab:
          provider: { command: { up: [$scene/say], down: [$scene/unsay], interface: probe } }
          through: corp
      END
      go cafe
      remember
      start_agent
      roamward up lab --wait 20 >/dev/null
      say "$(field corp state) $(field lab state) $(inner_packets)"
      within 5 eval '[[ $(inner_received) -gt 0 ]]' && say received
      roamward down corp --wait 20 >/dev/null
      within 10 field_is lab state disconnected
      say "$(inner_packets) $(stop_agent)"
      as_before
      """)
    #expect(seen.lines == ["[connected connected 0]", "[received]", "[0 0]"])
  }
}

private let outer = """
  version: 1
  tunnels:
    corp:
      provider: { wireguard: { config: corp.conf } }
      on-demand: { rules: [{ action: disconnect }] }
      routes: { include: [10.77.0.0/16] }

  """

private let inner = """
  version: 1
  tunnels:
    lab:
      provider: { wireguard: { config: lab.conf } }
      through: corp
      routes: { include: [10.88.0.0/16] }

  """
