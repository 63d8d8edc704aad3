import Glibc
import LinuxIO
import ProviderProtocol
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing
import TunnelProviders

/// Descriptors of credentials that a real program reads.
@Suite("Credentials of a provider's program", .enabled(if: getuid() == 0, "programs get another user"))
struct RunCredentialTests {
  /// Says what the descriptor of each message has.
  private static let reader = """
    #!/usr/bin/python3
    import os, socket
    channel = socket.socket(fileno=3)
    channel.send(b"hello")
    while True:
        message, descriptors, _, _ = socket.recv_fds(channel, 65536, 4)
        if not message: break
        channel.send(message + b": " + (os.read(descriptors[0], 100) if descriptors else b"none"))
        for number in descriptors: os.close(number)
    """

  private final class Scene {
    let folder: TemporaryFolder
    let configuration: InstalledProviderConfiguration
    var providers: InstalledProviders
    var heard: [String] = []

    init(on loop: EventLoop) throws {
      folder = try TemporaryFolder()
      chmod(folder.path, 0o755)
      try makeProgram(folder.path + "/program", RunCredentialTests.reader)
      configuration = InstalledProviderConfiguration(
        program: ProviderProgram(name: "reader", path: folder.path + "/program", user: "nobody"),
        credentials: [ProviderCredential(name: "password", path: folder.path + "/password")])
      providers = InstalledProviders(on: loop, kept: folder.path + "/kept")
    }

    func write(_ text: String, mode: mode_t = 0o600) throws {
      try TextFile.replace(folder.path + "/password", with: Array(text.utf8), mode: mode)
    }

    /// Begins a run, as far as credentials are concerned: the program's next two messages are of them.
    func beginRun() throws {
      let hasKept = try providers.openCredentials("work", configuration)
      heard.append(hasKept ? "with kept" : "without kept")
      for name in [Word("password"), ProtocolLimits.keptCredential].compactMap(\.self) {
        providers.send("work", Array(name.description.utf8), .credential(name))
      }
    }
  }

  @Test("each run of one program has the credentials of that time, and each is sent once") func runs() throws {
    let heard: [String] = try onLoop { loop, done in
      let scene = try Scene(on: loop)
      try scene.write("one")
      let next: [Int: () throws -> Void] = [
        0: { try scene.beginRun() },
        2: {
          try scene.write("two")
          try scene.providers.keep("work", scene.configuration.program, Array("ticket".utf8))
          try scene.beginRun()
        },
        4: {
          // Another user could read it: the run has none, also none of those before.
          try scene.write("three", mode: 0o644)
          do {
            try scene.beginRun()
          } catch let error as ProviderError {
            scene.heard.append(error.description.replacing(scene.folder.path, with: ""))
          }
          scene.providers.send("work", Array("password".utf8), .credential("password"))
        },
        5: { scene.providers.end("work") },
      ]
      var answers = -1
      try scene.providers.start("work", scene.configuration.program) { event in
        switch event {
        case .message(let bytes, _):
          answers += 1
          if answers > 0 { scene.heard.append(String(decoding: bytes, as: UTF8.self)) }
          do { try next[answers]?() } catch { done(["\(error)"]) }
        case .closed: break
        case .ended: done(scene.heard)
        }
      }
      return scene
    }
    #expect(
      heard == [
        "without kept", "password: one", "kept: none", "with kept", "password: two", "kept: ticket",
        "the credential /password has to be a file that only its owner may read; chmod 0600 it", "password: none",
      ])
  }
}
