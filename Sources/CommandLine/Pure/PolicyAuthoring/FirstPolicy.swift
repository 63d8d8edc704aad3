package import PolicyFiles

/// The files of a first policy folder: a tunnel that is off until its gateway is known, with everything else in place.
package struct FirstPolicy: Equatable, Sendable {
  package let files: [OutputFile]

  /// `privateKey` and `publicKey`: a new pair, in base64.
  package init(tunnel: String, privateKey: String, publicKey: String) {
    let configuration = """
      # wg-quick(8). The public key of this machine, for the gateway's administrator: \(publicKey)
      [Interface]
      PrivateKey = \(privateKey)
      # The address that the gateway gives to this machine:
      Address = 10.0.0.2/32

      # The gateway. Remove the signs # and put in its own values.
      #[Peer]
      #PublicKey = the gateway's public key
      #Endpoint = vpn.example.com:51820
      #AllowedIPs = 10.0.0.0/8

      """
    let policy = """
      # The tunnel `\(tunnel)`: down on trusted networks, up everywhere else. `man roamward-policy` describes every key.
      version: 1

      tunnels:
        \(tunnel):
          enabled: false                            # remove this line when \(tunnel).conf is complete
          provider:
            wireguard: { config: \(tunnel).conf }
          on-demand:
            rules:                                  # the first rule that matches decides
              - name: trusted network
                match: { network: \(NetworkText.trusted) }   # `roamward trust` adds the network that you are on
                action: disconnect
              - name: any other network
                action: connect

      """
    files = [
      OutputFile(name: "\(tunnel).conf", bytes: Array(configuration.utf8), isSecret: true),
      OutputFile(name: NetworkText.fileName, bytes: Array(NetworkText.fresh(path: "").text.utf8), isSecret: false),
      OutputFile(name: "10-\(tunnel).yaml", bytes: Array(policy.utf8), isSecret: false),
    ]
  }
}
