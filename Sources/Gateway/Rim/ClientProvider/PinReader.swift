internal import Glibc
internal import LinuxIO
internal import LoginProtocol
package import NetworkTypes

/// Reads the pin that a gateway's logins show, in a process of its own (`StrangersConnection`). Nothing but TLS is sent.
package enum PinReader {
  private static let connectPatience = Duration.seconds(12)
  private static let handshakePatience = Duration.seconds(8)
  /// A handshake has a few thousand bytes.
  private static let byteLimit = 1 << 18

  /// Prints the reading as a line; returns the exit status.
  package static func run(_ server: Endpoint) -> Int32 {
    // Before the calls for it are given up.
    let output = FileDescriptor(owning: dup(STDOUT_FILENO))
    return (try? output.writeAll(Array((read(server).line + "\n").utf8))) == nil ? 1 : 0
  }

  private static func read(_ server: Endpoint) -> PinReading {
    // Any key is another one than this. OpenSSL gets here all that it needs of the machine.
    guard let tls = TLSClient(pin: "") else { return .failed("OpenSSL cannot make a connection") }
    do throws(StrangersConnection.Failure) {
      return handshake(tls, by: try StrangersConnection(to: server, within: connectPatience))
    } catch {
      switch error {
      case .noAddress(let reason): return .noAddress(reason)
      case .noConnection(let reason): return .noConnection(reason)
      case .local(let error): return .failed(error.description)
      }
    }
  }

  private static func handshake(_ tls: TLSClient, by connection: StrangersConnection) -> PinReading {
    let end = Moment.now + handshakePatience
    var count = 0
    do throws(SystemError) {
      while true {
        let output = tls.takeOutput()
        if !output.isEmpty { try connection.writeAll(output) }
        guard let bytes = try connection.read(before: end) else { return .noConnection("there is no answer by TLS") }
        count += bytes.count
        guard !bytes.isEmpty, count <= byteLimit else { return .noTLS }
        do throws(TLSClient.Failure) { _ = try tls.receive(bytes) } catch {
          guard case .otherKey(let found) = error, let pin = GatewayPin(found) else { return .noTLS }
          return .pin(pin)
        }
      }
    } catch {
      return .noConnection(error.reason)
    }
  }
}
