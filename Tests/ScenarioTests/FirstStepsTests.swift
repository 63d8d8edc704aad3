import Testing

/// Policies of a lower layer, as a package brings them, that name files beside them.
private let packaged = [
  "pack.yaml": """
  version: 1
  tunnels:
    pack:
      provider: { wireguard: { config: corp.conf } }
      on-demand: { rules: [ { action: ignore } ] }

  """,
  "office.yaml": """
  version: 1
  networks:
    office:
      any-of:
        - ssid-file: office.txt

  """,
  "office.txt": "Office\n",
]

@Suite("First steps", .needsLab)
struct FirstStepsTests {
  @Test("a file of wg-quick becomes a tunnel that is down on trusted networks, and `trust` and `untrust` decide which they are")
  func importAndTrust() throws {
    let scene = try Scene([:])
    let seen = try scene.play("FirstSteps/import-and-trust")
    #expect(
      seen.lines == [
        #"work here (wifi wlan0, ssid "Cafe"): disconnect, rule 1 "trusted network""#,
        #"work on an unknown network: connect, rule 2 "any other network""#,
        "next: sudo roamward apply trusted-networks.yaml work.yaml    # puts it into force",
        "[600 report trusted-networks.yaml work.conf work.yaml ]", "2 files, 1 tunnel, 0 errors, 0 warnings", "[again 1]",
        #"other here (wifi wlan0, ssid "Cafe"): disconnect, rule 1 "trusted network""#, "1",
        "taken [interface].PrivateKey Put it into force now ",
        "Do you trust this network Please answer y or n Do you trust this network Put it into force now "
          + #"asked here (wifi wlan0, ssid "Cafe"): disconnect, rule 1 "trusted network""#,
        #"asked on an unknown network: connect, rule 2 "any other network""#,
        "next: sudo roamward apply trusted-networks.yaml asked.yaml    # puts it into force",
        "/dev/null: error: the file is empty",
        "trusted-networks.yaml, work.conf, work.yaml: active",
        #"work: connect, rule 2 "any other network" (before: disconnect, rule 1 "trusted network")"#,
        "roamward: this network is not part of `trusted` (\(scene.folder)/local/trusted-networks.yaml)", "[untrust 1]",
        #"work: disconnect, rule 1 "trusted network" (before: connect, rule 2 "any other network")"#,
        "this network is part of `trusted` already", "[edit 1]", "not changed", "active", "1",
        "local/trusted-networks.yaml  network trusted", "local/work.yaml              tunnel work",
      ], "\(seen)")
  }

  @Test("`edit`, `trust`, `untrust`, `apply` and `import --apply` beside an agent find the files that policies name, and keep them private")
  func besideAgent() throws {
    let scene = try Scene(packaged)
    let seen = try scene.play("FirstSteps/beside-agent")
    #expect(
      seen.lines == [
        "/etc/roamward/policies/work.yaml: active",
        "/etc/roamward/policies/work.yaml:6:28: error: /etc/roamward/policies/none.conf cannot be used: No such file or directory",
        "/etc/roamward/policies/work.yaml: active",
        #"work: connect, rule 2 "any other network" (before: disconnect, rule 1 "trusted network")"#,
        #"work: disconnect, rule 1 "trusted network" (before: connect, rule 2 "any other network")"#,
        "work.yaml: active on trial; reverted in 10 min unless you run `roamward confirm`", "policies confirmed", "work.yaml: active",
        "/etc/roamward/policies/pack.yaml: active", "this network is now part of `office`", "pack: disconnect, rule 1",
        #"work: ignore, rule 1 "trusted network""#, "note: no rule names the network `office`", "/etc/roamward/policies/office.yaml",
        "/run/roamward/policies/office.yaml", "/etc/roamward/policies/pack.yaml", "/run/roamward/policies/pack.yaml",
        "/etc/roamward/policies/trusted-networks.yaml", "/etc/roamward/policies/work.yaml", "600 local/corp.conf", "600 local/office.txt",
        "644 local/office.yaml", "644 local/pack.yaml", "644 local/trusted-networks.yaml", "600 local/work.conf", "644 local/work.yaml",
        "0",
      ], "\(seen)")
  }

  @Test("a machine that has just arrived, and has sent nothing, recognises its network: as root and as a user, with an agent and without")
  func justArrived() throws {
    let scene = try Scene([:])
    let seen = try scene.play("FirstSteps/just-arrived")
    let once = ["gateway-mac MAC", #"work here (wifi wlan0, ssid "Cafe"): disconnect, rule 1 "trusted network""#]
    #expect(seen.lines == Array(repeating: once, count: 6).flatMap { $0 }, "\(seen)")
  }

  @Test("what cannot be proven is not trusted, and what cannot be written is refused") func refusals() throws {
    let scene = try Scene([:])
    let seen = try scene.play("FirstSteps/refusals")
    #expect(
      seen.lines == [
        "roamward: --except here: this machine is on no network that could be recognised again",
        #"roamward: ssid "Cafe": neither"#, "this network is now part of `trusted`", "note: no rule names the network `trusted`",
        "2 files, 1 tunnel, 0 errors, 1 warning",
        "roamward: first has policies already: 10-vpn.yaml, trusted-networks.yaml", "[2]",
        #"roamward: no policy file, tunnel or network in force is named "nosuch"; files: 10-vpn.yaml, trusted-networks.yaml"#, "[2]",
      ], "\(seen)")
  }
}
