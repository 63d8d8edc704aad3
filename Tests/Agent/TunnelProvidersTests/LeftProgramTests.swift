import CLinux
import Glibc
import LinuxIO
import NetworkTypes
import RoamwardCore
import SystemdIO
import SystemdTestSupport
import TestSupport
import Testing
import TunnelProviders

/// Two agents one after the other, a service manager that is a socket of the test, and a real program.
/// One at a time: each has its own NOTIFY_SOCKET.
@Suite("The program of a provider outlives the agent", .enabled(if: getuid() == 0, "programs get another user"), .serialized)
struct LeftProgramTests {
  /// Says hello, repeats what it is told, and ends with its channel.
  private static let program = """
    #!/usr/bin/python3
    import os, socket
    channel = socket.socket(fileno=3)
    channel.send(b"hello %d" % os.getpid())
    while message := channel.recv(65536):
        channel.send(message)
    """

  private final class Scene {
    let folder: String
    let manager: MessageChannel
    var first: InstalledProviders?
    var second: InstalledProviders?
    var heard: [String] = []

    init() throws {
      var template = Array("/tmp/left-program-XXXXXX".utf8CString)
      folder = String(cString: mkdtemp(&template))
      chmod(folder, 0o755)
      try makeProgram(folder + "/program", LeftProgramTests.program)
      let number = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_NONBLOCK.rawValue | SOCK_CLOEXEC.rawValue), 0)
      manager = MessageChannel(FileDescriptor(owning: number))
      #expect(clinux_unix_bind(number, folder + "/notify") == 0)
      setenv("NOTIFY_SOCKET", folder + "/notify", 1)
    }

    deinit {
      unsetenv("NOTIFY_SOCKET")
      for name in ["program", "notify"] { unlink(folder + "/" + name) }
      rmdir(folder)
    }

    var program: ProviderProgram { ProviderProgram(name: "echo", path: folder + "/program", user: "nobody") }
  }

  @Test("the next agent speaks to the same process by the channel that the manager kept, and ends it") func adopted() throws {
    let scene = try Scene()
    let result: String = try onLoop { loop, done in
      let first = InstalledProviders(on: loop, store: DescriptorStore(room: 1))
      scene.first = first
      func goOn() {
        guard let left = first.handOver("work") else { return done("not left") }
        scene.first = nil
        // Messages between the agents wait in the channel; here there are none.
        guard case .message(let bytes, let file?) = try? scene.manager.receive(takesDescriptors: true) else { return done("not kept") }
        guard String(decoding: bytes, as: UTF8.self) == "FDSTORE=1\nFDNAME=provider-\(left.process)" else { return done("\(bytes)") }
        let second = InstalledProviders(on: loop, channels: ["provider-\(left.process)": file])
        scene.second = second
        let isAdopted = second.adopt("work", left, mark: 0) { event in
          switch event {
          case .message(let bytes, _):
            scene.heard.append(String(decoding: bytes, as: UTF8.self))
            second.end("work")
          case .closed: break
          // Here it is a child of the test, which has to collect it.
          case .ended: done(waitpid(left.process, nil, WNOHANG) == left.process ? "ended" : "still runs")
          }
        }
        guard isAdopted else { return done("not adopted") }
        second.send("work", Array("are you there".utf8), nil)
      }
      do {
        try first.start("work", scene.program, mark: 0) { event in
          guard case .message(let bytes, _) = event else { return }
          scene.heard.append(String(decoding: bytes.prefix(5), as: UTF8.self))
          goOn()
        }
      } catch { done("\(error)") }
      return scene
    }
    #expect(result == "ended")
    #expect(scene.heard == ["hello", "are you there"])
  }

  @Test("a program stays with its agent where the manager keeps no more channels") func full() throws {
    let scene = try Scene()
    let result: [String] = try onLoop { loop, done in
      let providers = InstalledProviders(on: loop, store: DescriptorStore(room: 0))
      do {
        try providers.start("work", scene.program, mark: 0) { event in
          switch event {
          case .message(let bytes, _):
            scene.heard.append(String(decoding: bytes.prefix(5), as: UTF8.self))
            if scene.heard.count > 1 { return providers.end("work") }
            if providers.handOver("work") != nil { done(["left"]) }
            providers.send("work", Array("still".utf8), nil)
          case .closed: break
          case .ended: done(scene.heard)
          }
        }
      } catch { done(["\(error)"]) }
      return providers
    }
    #expect(result == ["hello", "still"])
  }

  @Test("another process under the same number is not adopted, and a channel that was not kept neither") func others() throws {
    let scene = try Scene()
    let isAdopted: [Bool] = try onLoop { loop, done in
      let own = getpid()
      let (ours, _) = try MessageChannel.pair()
      let providers = InstalledProviders(on: loop, channels: ["provider-\(own)": ours.descriptor])
      let stranger = ProgramIdentity(process: own, started: 1)
      done([
        providers.adopt("work", stranger, mark: 0) { _ in }, providers.adopt("work", stranger, mark: 0) { _ in },
      ])
      return scene
    }
    #expect(isAdopted == [false, false])
  }
}
