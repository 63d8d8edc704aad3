import LinuxIO
import Testing

/// The programs that this project starts, and the files that it writes for them: each with what a stranger's file or server can put there.
/// A further one cannot be added without a line here, which says how it is written, and names the test that tries it.
@Suite struct StartedProgramsTests {
  struct Place {
    let file: String
    /// The input of the program, and the part of it that others control.
    let input: String
    /// `Tests/X.swift: name`; `nil`: strangers have no part in it.
    var test: String?
  }

  static let places = [
    Place(
      file: "Sources/Providers/Rim/OpenVPNProvider/OpenVPNProcess.swift",
      input: "openvpn(8): a stranger's configuration, written anew from parsed options (OpenVPNLanguage), by standard input",
      test: "Tests/ScenarioTests/StrangersFileTests.swift: provider"),
    Place(
      file: "Sources/Providers/Rim/NebulaProvider/NebulaProcess.swift",
      input: "nebula(1): a stranger's configuration, written anew from known keys (NebulaFile); nebula-cert(1): blocks of PEM",
      test: "Tests/Providers/NebulaProviderTests/NebulaFileTests.swift: refused"),
    Place(
      file: "Sources/Providers/Rim/OpenConnectProvider/OpenConnectProcess.swift",
      input: "openconnect(8): the policy's options each behind their own option, the server behind `--`, secrets as files without a name",
      test: "Tests/Providers/OpenConnectProviderTests/OpenConnectTests.swift: words"),
    Place(
      file: "Sources/Providers/Rim/StrongSwanProvider/CharonProcess.swift",
      input: "charon: a strongswan.conf of the program's own words; connections go by vici, where each value has its length",
      test: "Tests/Providers/StrongSwanProviderTests/StrongSwanTests.swift: words"),
    Place(
      file: "Sources/Agent/Rim/HostDNS/ResolvconfBackend.swift",
      input: "resolvconf(8): a record of addresses and names of domains, which are parsed and have no blanks or line ends",
      test: "Tests/Agent/HostDNSTests/ResolvconfBackendTests.swift: life"),
    Place(
      file: "Sources/Agent/Rim/HostProxies/ProxyFiles.swift",
      input: "dconf(1) update: a file of words of the program, with its own address in it"),
    Place(
      file: "Sources/Agent/Rim/TunnelProviders/CommandProvider.swift", input: "the policy's own program with the policy's own arguments",
      test: "Tests/ScenarioTests/StrangersFileTests.swift: imported"),
    Place(
      file: "Sources/Agent/Rim/TunnelProviders/ProviderProcess.swift",
      input: "the program of an installed manifest, which gets messages in JSON"),
    Place(file: "Sources/Gateway/Rim/ClientProvider/EngineProcess.swift", input: "a folder for the socket of our own engine"),
    Place(
      file: "Sources/Linux/Rim/ConfinedProcess/ConfinedProcess.swift", input: "our own programs, which get messages with their lengths"),
    Place(file: "Sources/Agent/Rim/HostProbes/ProbeHelper.swift", input: "our own program with an option of ours"),
    Place(file: "Sources/Linux/Rim/LinuxIO/CapturedProgram.swift", input: "the rest of SpawnedProgram, for its callers here"),
    Place(file: "Sources/Linux/Rim/SystemdIO/ChildProcess.swift", input: "the rest of SpawnedProgram, for its callers here"),
    Place(file: "Sources/Linux/Rim/LinuxIO/SpawnedProgram.swift", input: "the one place that starts programs, for its callers here"),
    Place(file: "Sources/Programs/roamward/BugReportCommand.swift", input: "tar(1) with paths of the command"),
    Place(
      file: "Sources/Programs/roamward/BugReportSources.swift",
      input: "programs that print the machine's state, with arguments of the command"),
    Place(file: "Sources/Programs/roamward/ExecutedProgram.swift", input: "the program that the person typed"),
    Place(file: "Sources/Programs/roamward/GuardedProgram.swift", input: "the program that the person typed"),
    Place(
      file: "Sources/Programs/roamward/StrangersReading.swift",
      input: "our own program, with an endpoint and an address that were parsed, and are written by their descriptions",
      test: "Tests/Gateway/GatewayLoginTests/LoginTargetTests.swift: mutations"),
    Place(
      file: "Sources/WireGuard/Rim/WireGuardControl/InterfaceProcess.swift", input: "our own engine, with a link's name and numbers"),
    Place(file: "Sources/WireGuard/Rim/WireGuardControl/StandbyProcess.swift", input: "our own engine, which gets the same later"),
  ]

  static func starts(_ text: String) -> Bool {
    ["SpawnedProgram(", "ChildProcess(", "CapturedProgram(", "PrivateFolder(", "posix_spawn(", "popen(", "execv("].contains {
      text.contains($0)
    }
  }

  @Test("each file that starts a program, or writes for one, is in the list, with a test where strangers take part") func list() throws {
    var found = Set(allSources().filter { Self.starts($0.text) }.map(\.name))
    // The declarations of these words themselves.
    found.remove("Sources/Linux/Rim/LinuxIO/PrivateFolder.swift")
    #expect(found == Set(Self.places.map(\.file)))
    for place in Self.places {
      guard let parts = place.test?.split(separator: ": "), parts.count == 2 else { continue }
      let text = (try? TextFile.read("\(PureRingsTests.root)/\(parts[0])")).map { String(decoding: $0, as: UTF8.self) } ?? ""
      #expect(ComplaintTableTests.has(String(parts[1]), in: text, isSwift: true), "\(place.file): there is no test \(place.test ?? "")")
    }
  }

  @Test("what openvpn, nebula and charon read is never the bytes that came") func writers() throws {
    // The names of values that hold a stranger's bytes, where they would be handed on.
    for (file, word) in [
      ("Sources/Providers/Rim/OpenVPNProvider/OpenVPN.swift", "ClientFile("),
      ("Sources/Providers/Rim/NebulaProvider/Nebula.swift", "NebulaFile("),
      ("Sources/CommandLine/Pure/PolicyImport/OpenVPN/OpenVPNImport.swift", "OpenVPNFile("),
    ] {
      let text = String(decoding: try TextFile.read("\(PureRingsTests.root)/\(file)"), as: UTF8.self)
      #expect(text.contains(word), "\(file) reads it by \(word)")
    }
  }

  @Test("the check sees a start") func detector() {
    #expect(Self.starts("let p = try SpawnedProgram(\n") && !Self.starts("// SpawnedProgram of ours"))
  }
}
