//! Bytes to and from histories, one module per format.
