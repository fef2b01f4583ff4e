/** Token of the services every run shares; private to this lib. */
export const RUN_SERVICES = 'smg:run-services';
