import Testing

/// Our own gateway stops answering, or the network drops its UDP, while a person's packets go into the tunnel.
@Suite("A gateway of ours that dies", .needsLab, .marksSockets)
struct DeadOwnGatewayTests {
  private func scene() throws -> Scene {
    let scene = try Scene([:], words: ["providers.bash", "client.bash", "dead.bash"])
    try scene.run("install_provider roamward")
    // The program chooses its provider by its name, and `roamward` is the command's.
    try scene.run(
      """
      ln -sf roamward-provider "$scene/providers/client"
      sed -i "s|^program: .*|program: $scene/providers/client|" "$scene/providers/roamward.yaml"
      """)
    return scene
  }

  @Test("is doubted, what is tried is told, given up, and found again when it is back")
  func ownGateway() throws {
    let scene = try scene()
    let seen = try scene.run(
      """
      # Else it acknowledges after ten seconds what came before.
      both_ways=1
      company_gateway
      company relay enable --port 443
      within 10 takes_relays
      secret office.password 'correct horse'
      go cafe
      client_policy ', username: alice' 'password: office.password' </dev/null
      start_agent
      roamward up office >/dev/null
      within 20 field_is office state connected
      within 5 office_answers
      dies_and_returns office 10.95.0.1 'udp dport 51821' 'tcp dport { 443, 51821 }'
      stop_agent
      """)
    print(scene.read("dead.log"))
    #expect(seen.lines == ["[reasserting]", "[back, failure null]", "0"], "\(seen)\n\(scene.read("dead.log"))")
  }

  @Test("where the network drops UDP, it goes by the relay within a minute, and what is tried is told meanwhile")
  func otherWay() throws {
    let scene = try scene()
    let seen = try scene.run(
      """
      company_gateway
      company relay enable --port 443
      within 10 takes_relays
      secret office.password 'correct horse'
      go cafe
      client_policy ', username: alice' 'password: office.password' </dev/null
      start_agent
      roamward up office >/dev/null
      within 20 field_is office state connected
      within 5 office_answers
      ping_always 10.95.0.1
      block_udp
      death=${EPOCHREALTIME/./}
      within 25 is_doubted office
      echo "doubted after $(since_death): $(field office state), $(field office transport)" >>dead.log
      [[ $(field office transport) != *'which answers'* ]] || say "said to answer"
      within 35 goes_by tcp
      within 5 field_is office state connected
      within 5 office_answers
      echo "another way after $(since_death)" >>dead.log
      say "$(field office transport)"
      kill $pings
      stop_agent
      """)
    print(scene.read("dead.log"))
    #expect(
      seen.lines == [
        "[by TCP to the relay 203.0.113.10:443, because 203.0.113.10:51821 does not answer by UDP]", "0",
      ], "\(seen)\n\(scene.read("dead.log"))")
  }
}
