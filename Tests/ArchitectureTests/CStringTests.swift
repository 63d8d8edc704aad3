import Testing

/// Texts that end at a byte 0 for a library in C, while they go on for Swift: each place is looked at, and says here why no stranger's text
/// is cut there, or why it does no harm.
@Suite struct CStringTests {
  /// The files with such places, how many each has, and the reason.
  static let reviewed: [(reason: String, files: [(String, Int)])] = [
    (
      "a variable of the environment, which cannot have a byte 0",
      [
        ("Sources/Gateway/Rim/GatewayHost/StateFolder.swift", 2), ("Sources/Agent/Rim/AgentDaemon/Daemon.swift", 1),
        ("Sources/Desktop/Rim/DesktopService/DesktopService.swift", 2),
        ("Sources/Desktop/Rim/DesktopService/SessionEnvironment.swift", 1), ("Sources/Linux/Rim/LinuxIO/FaultPoint.swift", 2),
        ("Sources/Linux/Rim/LinuxIO/ProgramPath.swift", 1),
        ("Sources/Linux/Rim/SystemdIO/ChildProcess.swift", 1), ("Sources/Agent/Rim/TunnelProviders/TrustedUse.swift", 1),
        ("Sources/Programs/roamward/AgentConnection.swift", 1), ("Sources/Programs/roamward/CallersSession.swift", 1),
        ("Sources/Programs/roamward/ExecutedProgram.swift", 3),
        ("Sources/Programs/roamward/OutputTerminal.swift", 1),
      ]
    ),
    (
      "words of the C library or of another library about its own failure",
      [
        ("Sources/WireGuard/Rim/WireGuardDataPath/Ciphers/CipherChoice.swift", 1),
        ("Sources/WireGuard/Rim/WireGuardDataPath/Ciphers/CipherLibrary.swift", 2),
        ("Sources/Gateway/Rim/ClientProvider/StrangersConnection.swift", 1), ("Sources/Linux/Rim/ResolverLibrary/AresSockets.swift", 1),
        ("Sources/Linux/Rim/ClientLibraries/CurlRequest.swift", 2), ("Sources/Kernel/Rim/KernelNetwork/NetlinkError.swift", 1),
        ("Sources/Linux/Rim/LinuxIO/SystemError.swift", 1),
        ("Sources/Agent/Rim/LinuxPlatform/Host/HostExamination.swift", 2),
        ("Sources/CommandLine/Rim/SignedMessages/SignedMessage.swift", 2),
        ("Sources/Policy/Rim/YAMLEvents/YAMLEvents.swift", 2), ("Sources/CommandLine/Rim/Terminal/Output.swift", 1),
      ]
    ),
    (
      "a path or a name that the kernel or the user database gives, which cannot have a byte 0",
      [
        ("Sources/Gateway/Rim/GatewayHost/Actor.swift", 1), ("Sources/Gateway/Rim/GatewayHost/SettingChange.swift", 1),
        ("Sources/Agent/Rim/HostDNS/ResolvedLinks.swift", 1),
        ("Sources/Agent/Rim/HostProbes/NameQuestion.swift", 1), ("Sources/Kernel/Rim/KernelNetwork/DeviceAttachmentReading.swift", 1),
        ("Sources/Linux/Rim/SystemdIO/DescriptorStore.swift", 1), ("Sources/Linux/Rim/SystemdIO/EventLoop.swift", 1),
        ("Sources/Linux/Rim/SystemdIO/LoggedInUsers.swift", 2),
        ("Sources/Programs/roamward/BugReportSources.swift", 2),
        ("Sources/Programs/roamward/ChangeOptions.swift", 2),
      ]
    ),
    (
      "the kernel's or a library's words, and a path that was resolved",
      [("Sources/Programs/roamward/ApplyCommand.swift", 2), ("Sources/Programs/roamward/HiddenResolvers.swift", 1)]
    ),
    ("a path that the kernel gives, and a template of mkstemp(3)", [("Sources/Programs/roamward/IsolatedProgram.swift", 2)]),
    (
      "failures' words, and names of folders",
      [("Sources/Policy/Rim/PolicyFiles/LinuxFileSystem.swift", 2), ("Sources/Policy/Rim/PolicyFiles/OutputFolder.swift", 8)]
    ),
    (
      "a template of mkstemp(3) or mkdtemp(3) from words of the program",
      [("Sources/Linux/Rim/LinuxIO/PrivateFolder.swift", 1), ("Sources/Providers/Rim/OpenConnectProvider/OpenConnectProcess.swift", 1)]
    ),
    ("a template of mkdtemp(3), a failure's words, a variable", [("Sources/Programs/roamward/EditCommand.swift", 3)]),
    ("names of settings and of files, from this machine's administrator", [("Sources/Linux/Rim/ClientLibraries/Authorities.swift", 2)]),
    (
      "lists of nftables, which are text without a byte 0",
      [("Sources/Kernel/Rim/KernelNetwork/NftablesBackend.swift", 3), ("Sources/Kernel/Rim/KernelNetwork/NftablesCommands.swift", 3)]
    ),
    ("expat refuses U+0000, and reports its own words", [("Sources/CommandLine/Rim/XMLEvents/XMLEvents.swift", 2)]),
    (
      "jansson refuses U+0000 in the names of members; values are read with their length", [("Sources/Base/Pure/JSON/JSONParsing.swift", 1)]
    ),
    (
      "texts of D-Bus, which end at their byte 0 by the specification; what is sent has none (BusArgument)",
      [
        ("Sources/Linux/Rim/SystemdIO/Bus/BusCall.swift", 1), ("Sources/Linux/Rim/SystemdIO/Bus/BusMessageReader.swift", 2),
        ("Sources/Linux/Rim/SystemdIO/Bus/SystemBus.swift", 3),
      ]
    ),
    (
      "the result of a policy's script, for the person who asked; a script or URL with a byte 0 is refused before",
      [("Sources/Probes/Rim/ProxyWorker/ScriptLibrary.swift", 1)]
    ),
    (
      "SQLite's words about its own failure; values are bound and read with their length",
      [("Sources/Gateway/Rim/GatewayStore/SQLiteEngine.swift", 2)]
    ),
    (
      "the name of the database's server, from the administrator; parameters with a byte 0 are refused before; PostgreSQL has no text with one",
      [("Sources/Gateway/Rim/GatewayPostgreSQL/PostgreSQLEngine.swift", 5)]
    ),
    (
      "texts of PAM modules, and addresses; a password with a byte 0 is refused before",
      [("Sources/Gateway/Rim/GatewayPAM/PAMConversation.swift", 1), ("Sources/Gateway/Rim/GatewayPAM/PAMWork.swift", 3)]
    ),
    (
      "the method and the path of a request: libmicrohttpd gives no more; the path is compared with those that are known, and opens nothing",
      [("Sources/Gateway/Rim/GatewayWeb/HTTPServer.swift", 2)]
    ),
    (
      "arguments of our own child, which are joined by a byte 0 on purpose; a line for standard error",
      [
        ("Sources/WireGuard/Rim/WireGuardControl/StandbyProcess.swift", 1),
        ("Sources/WireGuard/Rim/WireGuardDataPath/Ciphers/CipherSelection.swift", 1),
      ]
    ),
  ]

  /// Calls of C that take a text without its length.
  static let unmeasured: [(file: String, call: String, reason: String)] = [
    ("Sources/Gateway/Rim/GatewayStore/SQLiteEngine.swift", "sqlite3_prepare_v2(", "a statement of the program"),
    ("Sources/Gateway/Rim/GatewayCredentials/LoginIdentity.swift", "X509_NAME_add_entry_by_txt(", "a word of the program"),
    (
      "Sources/Providers/Rim/StrongSwanProvider/PKCS12Identity.swift", "PKCS12_verify_mac(",
      "the password of the user's own file: one with a byte 0 opens none"
    ),
  ]

  static func places(in text: String) -> Int {
    ["utf8CString", "String(cString:", "String(validatingCString:", "String(validatingUTF8:", ".withCString"].reduce(0) { count, word in
      count + text.ranges(of: word).count
    }
  }

  /// Calls of functions of C with the length -1, by their names.
  static func unmeasuredCalls(in text: String) -> [String] {
    text.split(separator: "\n").compactMap { line in
      guard ["sqlite3_", "X509_", "PKCS12_", "gnutls_", "BIO_", "EVP_", "json_"].contains(where: { line.contains($0) }) else { return nil }
      guard line.contains(", -1)") || line.contains(", -1,"), let place = line.firstRange(of: "-1") else { return nil }
      let before = line[..<place.lowerBound]
      guard let open = before.lastIndex(of: "(") else { return nil }
      let name = before[..<open].reversed().prefix { $0.isLetter || $0.isNumber || $0 == "_" }
      return String(name.reversed()) + "("
    }
  }

  @Test("each place where a text becomes a C string, or comes from one, is in the list") func reviewed() {
    let known = Dictionary(Self.reviewed.flatMap(\.files)) { $0 + $1 }
    let found = Dictionary(uniqueKeysWithValues: allSources().map { ($0.name, Self.places(in: $0.text)) }.filter { $0.1 > 0 })
    #expect(found.count > 40)
    for (file, count) in found {
      #expect(known[file] == count, "\(file) has \(count) places, of which the list knows \(known[file] ?? 0): look at them, and say why")
    }
    for file in known.keys { #expect(found[file] != nil, "\(file) has no such place any more") }
  }

  @Test("each call that takes a text without its length is in the list") func measured() {
    let found = allSources().flatMap { file in Self.unmeasuredCalls(in: file.text).map { "\(file.name) \($0)" } }
    #expect(Set(found) == Set(Self.unmeasured.map { "\($0.file) \($0.call)" }))
  }

  @Test("the check sees such places") func detector() {
    #expect(Self.places(in: "let a = text.utf8CString; b.withCString { String(cString: $0) }") == 3)
    #expect(Self.unmeasuredCalls(in: "  sqlite3_bind_text(statement, place, text, -1, copying)") == ["sqlite3_bind_text("])
    #expect(Self.unmeasuredCalls(in: "  sqlite3_bind_text(statement, place, text, Int32(text.utf8.count), copying)") == [])
  }
}
