/** Style sheets are bundled by esbuild from these imports. */
declare module '*.css';
