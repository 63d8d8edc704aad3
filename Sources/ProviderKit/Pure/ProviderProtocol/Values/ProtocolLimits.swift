/// The bounds of the protocol. Both sides check them; docs/provider-protocol.md lists them.
public enum ProtocolLimits {
  /// The only version of the protocol that there is.
  public static let version = 1
  /// The number of the channel's descriptor in a provider.
  public static let descriptor: Int32 = 3
  /// Bytes of a message.
  public static let message = 65_536
  /// Levels of arrays and objects in a message, with the message's own.
  public static let depth = 32
  /// The largest identifier of a request.
  public static let identifier: UInt32 = 0x7fff_ffff
  /// Unanswered requests of each side, and unanswered questions among them.
  public static let requests = 32
  public static let questions = 4
  /// Events, lines of the log, and what is kept or told of the transport and of certificates, in an hour. With more, the provider ends.
  public static let eventsInHour = 20_000
  /// Credentials of a start; what is kept comes beside them.
  public static let credentials = 16
  /// Bytes that are kept for a tunnel.
  public static let kept = 16_384
  /// The credential by which a start brings them.
  public static let keptCredential: Word = "kept"
  /// Bytes of a credential or of a secret answer.
  public static let secret = 65_536
  /// Bytes of the content of an application's message, before base64.
  public static let content = 32_768
  /// Bytes of a code or a name of an event or type.
  public static let word = 64
  /// Bytes of a text for people.
  public static let text = 4096
  /// Entries of the lists of settings.
  public static let addresses = 16
  public static let routes = 1024
  public static let servers = 16
  public static let domains = 128
  /// Bytes of a packet, by the length field of IPv4.
  public static let packet = 65_535
}
